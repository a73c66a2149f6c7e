// The API of the inbox app, under /api.
import cookie from '@fastify/cookie';
import { apiPrefix } from '@tocsin/contract/console/route';
import type { FastifyInstance } from 'fastify';
import { markAuthenticated } from '../http/connection-guard.ts';
import type { ConsoleApiDeps } from './deps.ts';
import { createErrorHandler, sendRefusal } from './errors.ts';
import { addInboxRoutes } from './inbox/routes.ts';
import { addOpenApiRoute } from './openapi-route.ts';
import { ConsoleRefusal, routeNotFound } from './refusal.ts';
import { checkOrigin } from './same-origin.ts';
import { addSettingsRoutes } from './settings/routes.ts';
import { addSignInRoutes } from './sign-in/routes.ts';
import { requireSession } from './sign-in/session.ts';
import { ownerOf } from './signed-in.ts';
import { createValidatorCompiler } from './validation.ts';

export function addApi(app: FastifyInstance, deps: ConsoleApiDeps): void {
  app.register(
    async (api) => {
      await api.register(cookie);
      api.removeContentTypeParser('text/plain');
      api.setValidatorCompiler(createValidatorCompiler(deps.now));
      api.setErrorHandler(createErrorHandler(deps));
      api.setNotFoundHandler((_request, reply) => sendRefusal(reply, routeNotFound()));
      api.addHook('onRequest', async (request, reply) => {
        reply.headers({
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
        });
        if (request.is404) return;
        checkOrigin(request, deps.addresses);
        const { access } = request.routeOptions.config;
        if (access === 'public') return;
        await requireSession(deps, request, reply);
        markAuthenticated(request.raw);
        if (access === 'operator' && ownerOf(request).role !== 'operator')
          throw new ConsoleRefusal('operators_only', 'Only operators can do this.');
      });
      addSignInRoutes(api, deps);
      addInboxRoutes(api, deps);
      addSettingsRoutes(api, deps);
      addOpenApiRoute(api, deps);
    },
    { prefix: apiPrefix },
  );
}
