import type { EmailChange } from '@tocsin/contract/console';
import type { FastifyInstance } from 'fastify';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { mailConfirmation } from '../sign-in/mailed-links.ts';
import { sendSecurityNotice } from '../sign-in/security-notices.ts';
import { ownerOf } from '../signed-in.ts';
import { changeOwner } from './change-owner.ts';
import { Fields } from './fields.ts';
import { checkAddress, checkIsFree, mailed } from './mail-rules.ts';
import type { SendTest } from './test-sends.ts';
import { createThrottle } from './throttle.ts';

export function addEmailRoutes(app: FastifyInstance, parts: ConsoleApiParts, sendTest: SendTest): void {
  const { store, mailer } = parts;
  // Each goes to an address that somebody typed in.
  const throttle = createThrottle('That were many mails.', { times: 5, seconds: 3600 });

  app.post('/preferences/email', async (request, reply): Promise<EmailChange> => {
    const owner = ownerOf(request);
    const email = readAddress(request.body);
    if (email === owner.email) return { email, confirmation: false };
    if (email !== null && mailer !== null) {
      await throttle(owner.id);
      await mailed(mailConfirmation(parts, owner, email));
      return { email, confirmation: true };
    }
    // Nobody has shown that it is theirs, so it must not get in the way of whoever has it, nor stand for them at a provider.
    if (email !== null && parts.oidc !== null) {
      throw new ConsoleRefusal(
        'conflict',
        "Without a mail server nobody can confirm an address. Whoever runs the service sets it: 'tocsin owner set ID --email ADDRESS'.",
      );
    }
    await checkIsFree(store, email, owner.id);
    await changeOwner(store, owner.id, (known) => ({
      ...known,
      email,
      emailAlerts: email === null ? false : known.emailAlerts,
    }));
    const notice = { kind: 'email-changed', email, at: parts.now() } as const;
    sendSecurityNotice(parts, { request, owner, notice }, reply);
    return { email, confirmation: false };
  });

  app.post('/preferences/test-mail', async (request) => {
    const { email: address } = ownerOf(request);
    if (mailer === null) {
      throw new ConsoleRefusal(
        'conflict',
        'This service has no mail server. Whoever runs it sets TOCSIN_SMTP_URL and TOCSIN_EMAIL_FROM.',
      );
    }
    if (address === null) throw new ConsoleRefusal('conflict', 'You have no e-mail address here. Enter one first.');
    return sendTest(request, { channel: 'email', address });
  });
}

function readAddress(body: unknown): string | null {
  const fields = new Fields(body);
  const email = fields.optionalText('email', 254);
  checkAddress(fields, email);
  fields.check();
  return email;
}
