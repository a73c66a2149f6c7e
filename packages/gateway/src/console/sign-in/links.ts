// One-time links. Most sign in; a link that confirms an email address does only that, and only for a signed-in owner.
import { signInRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { digestOf } from '../../core/key-format.ts';
import { linkLifetimes, makeLink } from '../../usecases/one-time-links.ts';
import type { OneTimeLink } from '../../usecases/ports/sign-in.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { ownerOf } from '../signed-in.ts';
import { sendSecurityNotice } from './security-notices.ts';
import { beginSession, findSignedIn } from './session.ts';

export function addLinkRoutes(api: FastifyInstance, deps: ConsoleApiDeps): void {
  const { store, now, addresses } = deps;

  addRoute(api, signInRoutes.previewLink, async ({ body }) => {
    const link = await store.oneTimeLinks.find(digestOf(body.token), now());
    const owner = link === null ? null : await store.owners.find(link.ownerId);
    if (link === null || owner === null) throw notValid();
    return { purpose: link.purpose, ownerName: owner.name, email: link.email };
  });

  addRoute(api, signInRoutes.useLink, async (request, reply) => {
    const digest = digestOf(request.body.token);
    const found = await store.oneTimeLinks.find(digest, now());
    if (found?.purpose === 'confirm_email') await requireOwnerOf(found, request);
    const link = await store.oneTimeLinks.consume(digest, now());
    const owner = link === null ? null : await store.owners.find(link.ownerId);
    if (link === null || owner === null) throw notValid();
    if (link.purpose === 'confirm_email') {
      await store.owners.change(owner.id, (known) => ({ ...known, email: link.email }));
      const notice = { kind: 'email-changed', email: link.email, at: now() } as const;
      if (link.email !== owner.email) sendSecurityNotice(deps, { request, owner, notice }, reply);
    } else await beginSession(deps, request, reply, { ownerId: owner.id, method: link.method });
    return { ok: true };
  });

  /** A mistyped address belongs to another person, so a confirmation link must not give access to the inbox. */
  async function requireOwnerOf(link: OneTimeLink, request: FastifyRequest): Promise<void> {
    const known = await findSignedIn(deps, request);
    if (known === null)
      throw new ConsoleRefusal('signed_out', 'Sign in first, then open the link again. It is still valid.');
    if (known.owner.id !== link.ownerId)
      throw new ConsoleRefusal(
        'conflict',
        'You are signed in as another owner. Sign in as the owner whom this link is for, then open it again.',
      );
  }

  addRoute(api, signInRoutes.createPhoneLink, async (request) => {
    const link = { ownerId: ownerOf(request).id, method: 'link', lifetimeMs: linkLifetimes.phone, now: now() } as const;
    return makeLink(store, link, addresses.consoleUrl(request));
  });
}

/** The same response for links that were used, have expired, or never existed. */
function notValid(): ConsoleRefusal {
  return new ConsoleRefusal(
    'link_not_valid',
    'This link has been used or has expired. Request a new one; each works once.',
  );
}
