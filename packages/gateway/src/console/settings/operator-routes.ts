// What operators see: which owners there are, in numbers. Never what they are told, and never a way in.
import type { NewOwner, OwnerOverview } from '@tocsin/contract/console';
import type { FastifyInstance } from 'fastify';
import { linkLifetimes } from '../../usecases/one-time-links.ts';
import { DecryptionFailed, EncryptionKeyMissing, type Owner, type OwnerTotals } from '../../usecases/ports/index.ts';
import { createOwner } from '../../usecases/registration.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal, notFound } from '../refusal.ts';
import { mailSignInLink } from '../sign-in/mailed-links.ts';
import { hasEmail } from '../sign-in/owners-with-email.ts';
import { ownerOf } from '../signed-in.ts';
import { Fields } from './fields.ts';
import { checkAddress, checkIsFree, mailed } from './mail-rules.ts';

export function addOperatorRoutes(app: FastifyInstance, parts: ConsoleApiParts): void {
  const { store, makers, mailer } = parts;

  async function find(id: string): Promise<Owner | null> {
    try {
      return await store.owners.find(id);
    } catch (error) {
      if (!(error instanceof DecryptionFailed || error instanceof EncryptionKeyMissing)) throw error;
      throw new ConsoleRefusal('conflict', 'What is stored of this owner does not open, so nobody can be invited.');
    }
  }

  app.register(async (operator) => {
    operator.addHook('onRequest', async (request) => {
      if (ownerOf(request).role === 'operator') return;
      throw new ConsoleRefusal('operators_only', 'Only operators can do this.');
    });

    operator.get('/operator/owners', async (request) => {
      const onDamaged = (id: string): void => parts.onError(new Error(`The owner ${id} does not open.`), request);
      const [owners, totals] = await Promise.all([store.owners.list(onDamaged), store.owners.totals()]);
      const byOwner = new Map(totals.map((each) => [each.ownerId, each]));
      return { owners: owners.map((owner) => toOverview(owner, byOwner.get(owner.id))) };
    });

    operator.post('/operator/owners', async (request, reply) => {
      const wanted = readOwner(request.body);
      await checkIsFree(store, wanted.email);
      const owner = await createOwner(store, makers, { ...wanted, emailAlerts: wanted.email !== null });
      if (mailer !== null && hasEmail(owner)) {
        await mailed(
          mailSignInLink(parts, owner, linkLifetimes.invitation),
          `${owner.name} is there now, but the mail server did not take the invitation. Invite them again in a moment.`,
        );
      }
      reply.code(201);
      return toOverview(owner, undefined);
    });

    operator.post<{ Params: { id: string } }>('/operator/owners/:id/invite', async (request, reply) => {
      const { id } = request.params;
      const owner = await find(id);
      if (owner === null) throw notFound('owner');
      if (!hasEmail(owner)) throw new ConsoleRefusal('conflict', `${owner.name} has no e-mail address.`);
      if (mailer === null) {
        throw new ConsoleRefusal(
          'conflict',
          `There is no mail server. Set TOCSIN_SMTP_URL and TOCSIN_EMAIL_FROM, or make a link with 'tocsin owner sign-in ${owner.id}'.`,
        );
      }
      await mailed(mailSignInLink(parts, owner, linkLifetimes.invitation));
      reply.code(202);
      return { ok: true };
    });
  });
}

function readOwner(body: unknown): NewOwner {
  const fields = new Fields(body);
  const wanted = { name: fields.text('name', 100), email: fields.optionalText('email', 254) };
  checkAddress(fields, wanted.email);
  fields.check();
  return wanted;
}

function toOverview({ id, name, email, role, createdAt }: Owner, totals: OwnerTotals | undefined): OwnerOverview {
  const { keys = 0, devices = 0, pushTargets = 0, waiting = 0, dead = 0, newestAt = null } = totals ?? {};
  return { id, name, email, role, createdAt, keys, devices, pushTargets, waiting, dead, newestAt };
}
