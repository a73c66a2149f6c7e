// The API behind the inbox app, under /api.
import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { markAuthenticated } from '../http/connection-guard.ts';
import type { ConsoleApiParts } from './deps.ts';
import { createErrorHandler, sendRefusal } from './errors.ts';
import { addInboxRoutes } from './inbox/routes.ts';
import { addOpenApiRoute } from './openapi-route.ts';
import { nothingHere } from './refusal.ts';
import { checkOrigin } from './same-origin.ts';
import { addSettingsRoutes } from './settings/routes.ts';
import { addSignInRoutes } from './sign-in/routes.ts';
import { recognize } from './sign-in/session.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered to whoever asks; every other route under /api wants a session. */
    isPublic?: true;
  }
}

/** The form of every id that the service makes. Nothing else is asked for: PostgreSQL takes not every text as a value. */
const idForm = /^[\w-]{1,64}$/;

export function addApi(app: FastifyInstance, parts: ConsoleApiParts): void {
  app.register(
    async (api) => {
      await api.register(cookie);
      api.removeContentTypeParser('text/plain');
      api.setErrorHandler(createErrorHandler(parts));
      api.setNotFoundHandler((_request, reply) => sendRefusal(reply, nothingHere()));
      api.addHook('onRequest', async (request, reply) => {
        reply.headers({
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
        });
        if (request.is404) return;
        checkOrigin(request, parts.addresses);
        if (request.routeOptions.config.isPublic !== true) {
          await recognize(parts, request, reply);
          markAuthenticated(request.raw);
        }
        checkParameters(request);
      });
      addSignInRoutes(api, parts);
      addInboxRoutes(api, parts);
      addSettingsRoutes(api, parts);
      addOpenApiRoute(api, parts);
    },
    { prefix: '/api' },
  );
}

function checkParameters({ params }: FastifyRequest): void {
  if (!Object.values(params as Record<string, string>).every((each) => idForm.test(each))) throw nothingHere();
}
