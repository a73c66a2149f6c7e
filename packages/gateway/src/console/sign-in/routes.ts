// Signing in and out, sessions and passkeys.

import type { SignInOptions } from '@tocsin/contract/console';
import { signInRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { needsVerifiedPasskey } from '../../usecases/user-verification.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { addRoute } from '../route.ts';
import { signedIn } from '../signed-in.ts';
import { addEmailLinkRoute } from './email-link.ts';
import { addLinkRoutes } from './links.ts';
import { addOidcRoutes } from './oidc.ts';
import { addPasskeySignInRoutes } from './passkey-sign-in.ts';
import { addPasskeyRoutes } from './passkeys.ts';
import { endSession } from './session.ts';
import { addSessionRoutes } from './sessions.ts';

export function addSignInRoutes(api: FastifyInstance, deps: ConsoleApiDeps): void {
  const { addresses, oidc, mailer } = deps;
  const offered = (request: FastifyRequest): SignInOptions => ({
    mail: mailer !== null,
    passkeys: addresses.hasPasskeys(request),
    oidc: oidc && { name: oidc.name },
  });

  addRoute(api, signInRoutes.getSignInOptions, async (request) => offered(request));

  addRoute(api, signInRoutes.getSession, async (request) => {
    const { owner, session } = signedIn(request);
    const { id, name, email, role } = owner;
    return {
      owner: { id, name, email, role },
      sessionId: session.id,
      needsVerifiedPasskey: needsVerifiedPasskey(owner, role === 'operator' ? await deps.store.passkeys.list(id) : []),
      service: {
        ...deps.service,
        ...offered(request),
        apiUrl: addresses.apiUrl(request),
        consoleUrl: addresses.consoleUrl(request),
      },
    };
  });

  addRoute(api, signInRoutes.signOut, async (request, reply) => {
    await endSession(deps, request, reply);
  });

  addLinkRoutes(api, deps);
  addEmailLinkRoute(api, deps);
  addPasskeySignInRoutes(api, deps);
  addPasskeyRoutes(api, deps);
  addOidcRoutes(api, deps);
  addSessionRoutes(api, deps);
}
