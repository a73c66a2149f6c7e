// Signing in with the operator's OpenID provider: the redirect to it, and its callback.

import { urlOf } from '@tocsin/contract/console/route';
import { signInRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { notFound } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { clearCookie, readCookie, setCookie } from './cookies.ts';
import { decryptFromBrowser, encryptForBrowser } from './encrypted-value.ts';
import { ownerOfPerson } from './oidc-owner.ts';
import { OidcFailed, type OidcState } from './oidc-types.ts';
import { beginSession } from './session.ts';

const stateLifetimeMs = 10 * 60 * 1000;
const purpose = 'oidc';

type Problem = 'oidc_unavailable' | 'oidc_refused';

export function addOidcRoutes(api: FastifyInstance, deps: ConsoleApiDeps): void {
  const { oidc, addresses, cookieKey, now } = deps;

  addRoute(api, signInRoutes.beginOidc, async (request, reply) => {
    if (oidc === null) throw notFound('way to sign in');
    try {
      const { url, state } = await oidc.begin(addresses.consoleUrl(request) + urlOf(signInRoutes.finishOidc));
      const value = encryptForBrowser(cookieKey, purpose, state, now() + stateLifetimeMs);
      setCookie(reply, addresses, 'oidc', value, stateLifetimeMs);
      return reply.redirect(url);
    } catch (error) {
      return reportFailure(reply, error, 'oidc_unavailable');
    }
  });

  // The one GET that changes something. The state, which only the browser that began has, replaces the check of the origin.
  addRoute(api, signInRoutes.finishOidc, async (request, reply) => {
    if (oidc === null) throw notFound('way to sign in');
    const state = decryptFromBrowser<OidcState>(cookieKey, purpose, readCookie(request, addresses, 'oidc'), now());
    clearCookie(reply, addresses, 'oidc');
    const query = request.url.indexOf('?');
    const search = query < 0 ? '' : request.url.slice(query);
    // Any page can send a browser here, so a request with another state is not logged as a fault of the provider.
    if (state === null || new URLSearchParams(search).get('state') !== state.state)
      return redirectToSignIn(reply, 'oidc_refused');
    try {
      const person = await oidc.finish(search, state);
      const ownerId = person && (await ownerOfPerson(deps, person, oidc.createsOwners));
      if (ownerId === null) return redirectToSignIn(reply, 'oidc_refused');
      await beginSession(deps, request, reply, { ownerId, method: 'oidc' });
      return reply.redirect('/');
    } catch (error) {
      return reportFailure(reply, error, error instanceof OidcFailed ? 'oidc_refused' : 'oidc_unavailable');
    }
  });

  function reportFailure(reply: FastifyReply, error: unknown, problem: Problem): FastifyReply {
    if (error instanceof OidcFailed) deps.onOidcFailed(error.message);
    else if (!(error instanceof StoreUnavailable)) deps.onError(error, reply.request);
    return redirectToSignIn(reply, problem);
  }
}

/** The browser followed a link, so a page is shown instead of a JSON error. */
function redirectToSignIn(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply.redirect(`/sign-in?problem=${problem}`);
}
