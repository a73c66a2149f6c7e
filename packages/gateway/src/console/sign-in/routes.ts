// Signing in and out, and what belongs to it.
import type { SessionInfo, SignInOptions } from '@tocsin/contract/console';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { needsVerifiedPasskey } from '../../usecases/user-verification.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { signedIn } from '../signed-in.ts';
import { addLinkRoutes } from './links.ts';
import { addMailRoute } from './mail.ts';
import { addOidcRoutes } from './oidc.ts';
import { addPasskeySignInRoutes } from './passkey-sign-in.ts';
import { addPasskeyRoutes } from './passkeys.ts';
import { addSessionRoutes } from './sessions.ts';

export function addSignInRoutes(api: FastifyInstance, parts: ConsoleApiParts): void {
  const { addresses, oidc, mailer } = parts;
  const offered = (request: FastifyRequest): SignInOptions => ({
    mail: mailer !== null,
    passkeys: addresses.hasPasskeys(request),
    oidc: oidc && { name: oidc.name },
  });

  api.get('/sign-in', { config: { isPublic: true } }, async (request) => offered(request));

  api.get('/session', async (request): Promise<SessionInfo> => {
    const { owner, session } = signedIn(request);
    const { id, name, email, role } = owner;
    return {
      owner: { id, name, email, role },
      sessionId: session.id,
      needsVerifiedPasskey: needsVerifiedPasskey(owner, role === 'operator' ? await parts.store.passkeys.list(id) : []),
      service: {
        ...parts.service,
        ...offered(request),
        apiUrl: addresses.apiUrl(request),
        consoleUrl: addresses.consoleUrl(request),
      },
    };
  });

  addLinkRoutes(api, parts);
  addMailRoute(api, parts);
  addPasskeySignInRoutes(api, parts);
  addPasskeyRoutes(api, parts);
  addOidcRoutes(api, parts);
  addSessionRoutes(api, parts);
}
