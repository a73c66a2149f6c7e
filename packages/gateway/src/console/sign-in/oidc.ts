// Signing in with the operator's OpenID provider: there, and back again.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { notFound } from '../refusal.ts';
import { clearCookie, readCookie, setCookie } from './cookies.ts';
import { ownerOfPerson } from './oidc-owner.ts';
import { OidcFailed, type OidcMemory } from './oidc-provider.ts';
import { openFromBrowser, sealForBrowser } from './sealed-value.ts';
import { beginSession } from './session.ts';

const memoryMs = 10 * 60 * 1000;
const purpose = 'oidc';
const config = { isPublic: true } as const;

type Problem = 'oidc_unavailable' | 'oidc_refused';

export function addOidcRoutes(api: FastifyInstance, parts: ConsoleApiParts): void {
  const { oidc, addresses, cookieKey, now } = parts;

  api.get('/sign-in/oidc', { config }, async (request, reply) => {
    if (oidc === null) throw notFound('way to sign in');
    try {
      const { url, memory } = await oidc.begin(`${addresses.consoleUrl(request)}/api/sign-in/oidc/callback`);
      setCookie(reply, addresses, 'oidc', sealForBrowser(cookieKey, purpose, memory, now() + memoryMs), memoryMs);
      return reply.redirect(url);
    } catch (error) {
      return giveUp(reply, error, 'oidc_unavailable');
    }
  });

  // The one GET that changes something: the state, which only the browser that began has, stands in for the origin.
  api.get('/sign-in/oidc/callback', { config }, async (request, reply) => {
    if (oidc === null) throw notFound('way to sign in');
    const memory = openFromBrowser<OidcMemory>(cookieKey, purpose, readCookie(request, addresses, 'oidc'), now());
    clearCookie(reply, addresses, 'oidc');
    const query = request.url.indexOf('?');
    const search = query < 0 ? '' : request.url.slice(query);
    // Anybody can send a browser here; what does not belong to what was begun is no fault of the provider.
    if (memory === null || new URLSearchParams(search).get('state') !== memory.state)
      return toSignInPage(reply, 'oidc_refused');
    try {
      const person = await oidc.finish(search, memory);
      const ownerId = person && (await ownerOfPerson(parts, person, oidc.createsOwners));
      if (ownerId === null) return toSignInPage(reply, 'oidc_refused');
      await beginSession(parts, request, reply, { ownerId, method: 'oidc' });
      return reply.redirect('/');
    } catch (error) {
      return giveUp(reply, error, error instanceof OidcFailed ? 'oidc_refused' : 'oidc_unavailable');
    }
  });

  function giveUp(reply: FastifyReply, error: unknown, problem: Problem): FastifyReply {
    if (error instanceof OidcFailed) parts.onOidcFailed(error.message);
    else if (!(error instanceof StoreUnavailable)) parts.onError(error, reply.request);
    return toSignInPage(reply, problem);
  }
}

/** Whoever is here followed a link, so that an answer in JSON would help nobody. */
function toSignInPage(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply.redirect(`/sign-in?problem=${problem}`);
}
