// What the console mails, and over which channel.
import type { EmailChannel } from '../channels/email/index.ts';
import type { Letter } from '../channels/email/letter.ts';
import { MailNotSent, type SignInMailer } from '../console/parts.ts';

const ignore = 'If you did not expect it, leave it alone and nothing happens. The link works once.';

export function createSignInMailer(channel: EmailChannel): SignInMailer {
  async function send(letter: Letter, address: string): Promise<void> {
    const outcome = await channel.sendLetter(letter, address);
    if (outcome.kind !== 'sent') throw new MailNotSent(outcome.error);
  }

  return {
    sendSignInLink: ({ name, email }, url) =>
      send(
        {
          subject: 'Your sign-in link',
          paragraphs: [`Hello ${name},`, 'this link opens your Tocsin inbox.'],
          link: { label: 'Open my inbox', url },
          footnote: ignore,
        },
        email,
      ),
    sendEmailConfirmation: ({ name }, email, url) =>
      send(
        {
          subject: 'Is this your address?',
          paragraphs: [
            `Hello ${name},`,
            `${email} is to be the address of your Tocsin inbox from now on. If that is right, confirm it within a day, in a browser in which you are signed in.`,
          ],
          link: { label: 'Confirm the address', url },
          footnote: ignore,
        },
        email,
      ),
  };
}
