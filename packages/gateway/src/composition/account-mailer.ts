// The account emails of the console, sent over the email channel.
import { emailChannel } from '../channels/email/index.ts';
import type { TransactionalEmail } from '../channels/email/transactional-email.ts';
import type { ChannelSet } from '../channels/registry.ts';
import { type AccountMailer, EmailNotSent, type SecurityNotice } from '../console/deps.ts';
import { browserName } from '../core/browser-name.ts';
import { isAccepted } from '../core/outcome.ts';

const ignore = "If you didn't request this, ignore this email. The link works once.";

/** null: no SMTP server is configured. */
export function createAccountMailer(channels: Pick<ChannelSet, 'get'>): AccountMailer | null {
  const channel = channels.get(emailChannel);
  if (channel === null) return null;
  const open = channel;

  async function send(email: TransactionalEmail, address: string): Promise<void> {
    const outcome = await open.sendTransactional(email, address);
    if (!isAccepted(outcome)) throw new EmailNotSent(outcome.error);
  }

  return {
    sendSignInLink: ({ name, email }, url) =>
      send(
        {
          subject: 'Your sign-in link',
          paragraphs: [`Hello ${name},`, 'This link signs you in to Tocsin.'],
          link: { label: 'Sign in', url },
          footnote: ignore,
        },
        email,
      ),
    sendEmailConfirmation: ({ name }, email, url) =>
      send(
        {
          subject: 'Confirm your email address',
          paragraphs: [
            `Hello ${name},`,
            `You asked to use ${email} for your Tocsin inbox. Confirm within 24 hours, in a browser where you are signed in.`,
          ],
          link: { label: 'Confirm address', url },
          footnote: ignore,
        },
        email,
      ),
    sendSecurityNotice: ({ name, email }, notice, settingsUrl) => {
      const { subject, what, details, ifNot } = describe(notice);
      const facts = { ...details, Time: `${new Date(notice.at).toISOString().slice(0, 16).replace('T', ' ')} UTC` };
      return send(
        {
          subject,
          paragraphs: [
            `Hello ${name},`,
            what,
            ...Object.entries(facts).map(([fact, value]) => `${fact}: ${value}`),
            `If this was you, there is nothing to do. If not, ${ifNot}`,
          ],
          link: { label: 'Open settings', url: settingsUrl },
          footnote: 'Tocsin sends this email to protect your account. It cannot be turned off.',
        },
        email,
      );
    },
  };
}

const methods = { link: 'a sign-in link', mail: 'an emailed link', passkey: 'a passkey', oidc: 'your OpenID provider' };

interface Description {
  subject: string;
  what: string;
  details: Record<string, string>;
  ifNot: string;
}

function describe(notice: SecurityNotice): Description {
  switch (notice.kind) {
    case 'new-browser':
      return {
        subject: 'New sign-in to Tocsin',
        what: `A browser that you have not used before signed in to your Tocsin inbox with ${methods[notice.method]}.`,
        details: { Browser: browserName(notice.userAgent), 'IP address': notice.address },
        ifNot: 'sign that browser out in Settings and inform your operator.',
      };
    case 'new-passkey':
      return {
        subject: 'New passkey for Tocsin',
        what: 'A passkey that signs in to your Tocsin inbox was added.',
        details: { Name: notice.name },
        ifNot: 'delete it in Settings, sign out browsers that you do not recognize, and inform your operator.',
      };
    case 'email-changed':
      return {
        subject: notice.email === null ? 'Your email address was removed' : 'Your email address was changed',
        what:
          notice.email === null
            ? 'This address was removed from your Tocsin inbox. You will not get email from it.'
            : `Your Tocsin inbox now uses ${notice.email}. Sign-in links and notifications go there.`,
        details: {},
        ifNot: `inform your operator immediately${notice.email === null ? '.' : ': the new address can be used to sign in.'}`,
      };
  }
}
