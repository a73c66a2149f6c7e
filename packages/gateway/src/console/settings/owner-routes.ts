// For operators: the owners of the service and their counts. Never the content of notifications, never a way to sign in.

import type { OwnerOverview } from '@tocsin/contract/console';
import { ownerRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance } from 'fastify';
import { linkLifetimes } from '../../usecases/one-time-links.ts';
import { DecryptionFailed, EncryptionKeyMissing, type Owner, type OwnerTotals } from '../../usecases/ports/index.ts';
import { createOwner } from '../../usecases/registration.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal, notFound } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { emailSignInLink } from '../sign-in/emailed-links.ts';
import { hasEmail } from '../sign-in/owners-with-email.ts';
import { assertEmailUnused, sendOrRefuse } from './email-address.ts';

export function addOwnerRoutes(app: FastifyInstance, deps: ConsoleApiDeps): void {
  const { store, environment, mailer } = deps;

  async function find(id: string): Promise<Owner | null> {
    try {
      return await store.owners.find(id);
    } catch (error) {
      if (!(error instanceof DecryptionFailed || error instanceof EncryptionKeyMissing)) throw error;
      throw new ConsoleRefusal('conflict', 'The data of this owner cannot be decrypted, so no invitation can be sent.');
    }
  }

  addRoute(app, ownerRoutes.listOwners, async (request) => {
    const onDamaged = (id: string): void => deps.onError(new Error(`The owner ${id} cannot be decrypted.`), request);
    const [owners, totals] = await Promise.all([store.owners.list(onDamaged), store.owners.totals()]);
    const byOwner = new Map(totals.map((each) => [each.ownerId, each]));
    return { owners: owners.map((owner) => toOverview(owner, byOwner.get(owner.id))) };
  });

  addRoute(app, ownerRoutes.createOwner, async (request) => {
    const { name, email } = request.body;
    await assertEmailUnused(store, email);
    const owner = await createOwner(store, environment, { name, email, emailAlerts: email !== null });
    if (mailer !== null && hasEmail(owner)) {
      await sendOrRefuse(
        emailSignInLink(deps, owner, linkLifetimes.invitation),
        `${owner.name} was added, but the SMTP server did not accept the invitation. Invite them again in a moment.`,
      );
    }
    return toOverview(owner, undefined);
  });

  addRoute(app, ownerRoutes.inviteOwner, async (request) => {
    const owner = await find(request.params.id);
    if (owner === null) throw notFound('owner');
    if (!hasEmail(owner)) throw new ConsoleRefusal('conflict', `${owner.name} has no email address.`);
    if (mailer === null) {
      throw new ConsoleRefusal(
        'conflict',
        `There is no SMTP server. Set TOCSIN_SMTP_URL and TOCSIN_EMAIL_FROM, or create a link with 'tocsin owner sign-in ${owner.id}'.`,
      );
    }
    await sendOrRefuse(emailSignInLink(deps, owner, linkLifetimes.invitation));
    return { ok: true };
  });
}

function toOverview({ id, name, email, role, createdAt }: Owner, totals: OwnerTotals | undefined): OwnerOverview {
  const { keys = 0, devices = 0, pushTargets = 0, waiting = 0, dead = 0, newestAt = null } = totals ?? {};
  return { id, name, email, role, createdAt, keys, devices, pushTargets, waiting, dead, newestAt };
}
