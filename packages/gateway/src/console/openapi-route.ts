// The description of the public API for the app's page about it, which can be read before signing in.

import { openApiDocument } from '@tocsin/contract';
import { apiDescriptionRoutes } from '@tocsin/contract/console/routes';
import type { JsonObject } from '@tocsin/contract/types';
import type { FastifyInstance } from 'fastify';
import type { ConsoleApiDeps } from './deps.ts';
import { addRoute } from './route.ts';

export function addOpenApiRoute(api: FastifyInstance, { addresses, service }: ConsoleApiDeps): void {
  const document = openApiDocument(service.version) as JsonObject;

  /** The document of the public API with its address added: the console is another origin. */
  addRoute(api, apiDescriptionRoutes.getOpenApi, async (request) => ({
    ...document,
    servers: [{ url: addresses.apiUrl(request), description: 'The public API of this service' }],
  }));
}
