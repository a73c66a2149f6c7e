import { settingsRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance } from 'fastify';
import type { ChannelTarget } from '../../core/channel.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { emailConfirmation } from '../sign-in/emailed-links.ts';
import { sendSecurityNotice } from '../sign-in/security-notices.ts';
import { ownerOf } from '../signed-in.ts';
import { changeOwner } from './change-owner.ts';
import { assertEmailUnused, sendOrRefuse } from './email-address.ts';
import type { SendTest } from './test-sends.ts';
import { createThrottle } from './throttle.ts';

export function addEmailRoutes(app: FastifyInstance, deps: ConsoleApiDeps, sendTest: SendTest): void {
  const { store, mailer } = deps;
  // Each email goes to an address that the owner has not confirmed.
  const throttle = createThrottle('Too many confirmation emails.', { limit: 5, seconds: 3600 });

  addRoute(app, settingsRoutes.changeEmail, async (request, reply) => {
    const owner = ownerOf(request);
    const { email } = request.body;
    if (email === owner.email) return { email, confirmation: false };
    if (email !== null && mailer !== null) {
      await throttle(owner.id);
      await sendOrRefuse(emailConfirmation(deps, owner, email));
      return { email, confirmation: true };
    }
    // An unconfirmed address must not block its real holder, nor be matched with an identity of the provider.
    if (email !== null && deps.oidc !== null) {
      throw new ConsoleRefusal(
        'conflict',
        "Without an SMTP server an address cannot be confirmed. Ask the operator to set it: 'tocsin owner set ID --email ADDRESS'.",
      );
    }
    await assertEmailUnused(store, email, owner.id);
    await changeOwner(store, owner.id, (known) => ({
      ...known,
      email,
      emailAlerts: email === null ? false : known.emailAlerts,
    }));
    const notice = { kind: 'email-changed', email, at: deps.now() } as const;
    sendSecurityNotice(deps, { request, owner, notice }, reply);
    return { email, confirmation: false };
  });

  addRoute(app, settingsRoutes.sendTestEmail, async (request) => {
    const { email: address } = ownerOf(request);
    if (mailer === null) {
      throw new ConsoleRefusal(
        'conflict',
        'This service has no SMTP server. Ask the operator to set TOCSIN_SMTP_URL and TOCSIN_EMAIL_FROM.',
      );
    }
    if (address === null) throw new ConsoleRefusal('conflict', 'You have no email address. Enter one first.');
    const target: ChannelTarget & { address: string } = { id: '', address };
    return sendTest(request, { channel: 'email', target });
  });
}
