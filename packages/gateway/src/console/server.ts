// The owner's and operator's side, on a listener of its own.
import type { RequestListener, Server, ServerOptions } from 'node:http';
import Fastify, { type FastifyInstance } from 'fastify';
import { sendRefusal } from './errors.ts';
import { addHealthRoutes } from './health-routes.ts';
import type { IsKnownHost } from './known-hosts.ts';
import { addMetricsRoute, type MetricsRouteOptions } from './metrics-route.ts';
import type { Readiness } from './readiness.ts';
import { nothingHere, unknownHost } from './refusal.ts';

export interface ConsoleParts {
  readiness: Pick<Readiness, 'report'>;
  metrics: MetricsRouteOptions;
  isKnownHost: IsKnownHost;
  /** What TLS adds to every response. */
  transportHeaders?: Record<string, string>;
  /** Another than Node's plain one, for TLS. */
  createServer?: (options: ServerOptions, listener: RequestListener) => Server;
}

/** Fastify takes these two under its own names, and sets them over those of its server. */
const timeouts = { requestTimeout: 15_000, keepAliveTimeout: 75_000 };
const serverOptions: ServerOptions = {
  ...timeouts,
  headersTimeout: 10_000,
  // Slow clients are let go of soon after their time, not at Node's own next look half a minute later.
  connectionsCheckingInterval: 1000,
};

const maxBodyBytes = 65_536;

export function createConsole({
  readiness,
  metrics,
  isKnownHost,
  transportHeaders = {},
  createServer,
}: ConsoleParts): FastifyInstance {
  const app = Fastify<Server>({
    logger: false,
    bodyLimit: maxBodyBytes,
    // Addresses that do not decode, or have a part that is far too long: the framework's own answer would repeat them.
    frameworkErrors: (_error, _request, reply) => sendRefusal(reply, nothingHere()),
    // Every problem at once, also with what should not be there.
    ajv: { customOptions: { allErrors: true, removeAdditional: false } },
    ...timeouts,
    ...(createServer === undefined
      ? { http: serverOptions }
      : { serverFactory: (handler) => createServer(serverOptions, handler) }),
  });

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(transportHeaders);
    // A health check says nothing that is worth hiding, and must not depend on a setting.
    if (request.url === '/healthz' || isKnownHost(request.raw)) return;
    return sendRefusal(reply, unknownHost());
  });
  addHealthRoutes(app, readiness);
  addMetricsRoute(app, metrics);
  return app;
}
