// Links that work once: most sign in; those that confirm an address only do that, for whoever is signed in already.
import type { LinkPreview, PhoneLink } from '@tocsin/contract/console';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { digestOf } from '../../core/key-format.ts';
import { linkLifetimes, makeLink } from '../../usecases/one-time-links.ts';
import type { OneTimeLink } from '../../usecases/ports/sign-in.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { ownerOf } from '../signed-in.ts';
import { sendSecurityNotice } from './security-notices.ts';
import { beginSession, findSignedIn } from './session.ts';

const isPublic = { isPublic: true } as const;
const schema = {
  body: {
    type: 'object',
    required: ['token'],
    properties: { token: { type: 'string', minLength: 1, maxLength: 100 } },
  },
};

export function addLinkRoutes(api: FastifyInstance, parts: ConsoleApiParts): void {
  const { store, now, addresses } = parts;

  api.post<{ Body: { token: string } }>('/sign-in/link/look', { schema, config: isPublic }, async ({ body }) => {
    const link = await store.oneTimeLinks.find(digestOf(body.token), now());
    const owner = link === null ? null : await store.owners.find(link.ownerId);
    if (link === null || owner === null) throw notValid();
    const preview: LinkPreview = { purpose: link.purpose, ownerName: owner.name, email: link.email };
    return preview;
  });

  api.post<{ Body: { token: string } }>('/sign-in/link', { schema, config: isPublic }, async (request, reply) => {
    const digest = digestOf(request.body.token);
    const found = await store.oneTimeLinks.find(digest, now());
    if (found?.purpose === 'confirm_email') await checkIsFor(found, request);
    const link = await store.oneTimeLinks.consume(digest, now());
    const owner = link === null ? null : await store.owners.find(link.ownerId);
    if (link === null || owner === null) throw notValid();
    if (link.purpose === 'confirm_email') {
      await store.owners.change(owner.id, (known) => ({ ...known, email: link.email }));
      const notice = { kind: 'email-changed', email: link.email, at: now() } as const;
      if (link.email !== owner.email) sendSecurityNotice(parts, { request, owner, notice }, reply);
    } else await beginSession(parts, request, reply, { ownerId: owner.id, method: link.method });
    return { ok: true };
  });

  /** Whoever mistypes their address must not give their inbox away: what is mailed to it is no way in. */
  async function checkIsFor(link: OneTimeLink, request: FastifyRequest): Promise<void> {
    const known = await findSignedIn(parts, request);
    if (known === null)
      throw new ConsoleRefusal('signed_out', 'Sign in first, then open the link again. It still works.');
    if (known.owner.id !== link.ownerId)
      throw new ConsoleRefusal(
        'conflict',
        'You are signed in as somebody else. Sign in as the owner whom this link is for, then open it again.',
      );
  }

  api.post('/phone-link', async (request): Promise<PhoneLink> => {
    const link = { ownerId: ownerOf(request).id, method: 'link', lifetimeMs: linkLifetimes.phone, now: now() } as const;
    return makeLink(store, link, addresses.consoleUrl(request));
  });
}

/** One answer for links that were used, are too old, or never were. */
function notValid(): ConsoleRefusal {
  return new ConsoleRefusal(
    'link_not_valid',
    'This link was used already or is too old. Ask for a new one; each works once.',
  );
}
