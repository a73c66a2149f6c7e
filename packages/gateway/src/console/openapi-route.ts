// The description of the public API for the app's page about it, which people read before they sign in.
import { openApiDocument } from '@tocsin/contract';
import type { FastifyInstance } from 'fastify';
import type { ConsoleApiParts } from './deps.ts';

export function addOpenApiRoute(api: FastifyInstance, { addresses, service }: ConsoleApiParts): void {
  const document = openApiDocument(service.version);

  /** The same as the public API gives out, but with its address: seen from here it is another host. */
  api.get('/openapi.json', { config: { isPublic: true } }, async (request) => ({
    ...document,
    servers: [{ url: addresses.apiUrl(request), description: 'The public API of this service' }],
  }));
}
