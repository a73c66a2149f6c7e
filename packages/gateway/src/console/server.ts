// The HTTP server of the console, on a listener of its own.
import type { RequestListener, Server, ServerOptions } from 'node:http';
import { stringify } from '@tocsin/contract';
import Fastify, { type FastifyInstance } from 'fastify';
import { sendRefusal } from './errors.ts';
import { addHealthRoutes } from './health-routes.ts';
import type { IsKnownHost } from './known-hosts.ts';
import { addMetricsRoute, type MetricsRouteOptions } from './metrics-route.ts';
import type { Readiness } from './readiness.ts';
import { routeNotFound, unknownHost } from './refusal.ts';

export interface ConsoleDeps {
  readiness: Pick<Readiness, 'report'>;
  metrics: MetricsRouteOptions;
  isKnownHost: IsKnownHost;
  /** Headers that TLS adds to every response. */
  transportHeaders?: Record<string, string>;
  /** Replaces the plain server of Node, for TLS. */
  createServer?: (options: ServerOptions, listener: RequestListener) => Server;
}

/** Fastify has options of its own for these two, which override those of its server. */
const timeouts = { requestTimeout: 15_000, keepAliveTimeout: 75_000 };
const serverOptions: ServerOptions = {
  ...timeouts,
  headersTimeout: 10_000,
  // Disconnects slow clients soon after their timeout; the default of Node is 30 s.
  connectionsCheckingInterval: 1000,
};

const maxBodyBytes = 65_536;

export function createConsole({
  readiness,
  metrics,
  isKnownHost,
  transportHeaders = {},
  createServer,
}: ConsoleDeps): FastifyInstance {
  const app = Fastify<Server>({
    logger: false,
    bodyLimit: maxBodyBytes,
    // Paths that cannot be decoded or are too long: the error of the framework would repeat them.
    frameworkErrors: (_error, _request, reply) => sendRefusal(reply, routeNotFound()),
    ...timeouts,
    ...(createServer === undefined
      ? { http: serverOptions }
      : { serverFactory: (handler) => createServer(serverOptions, handler) }),
  });

  app.setReplySerializer(stringify);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(transportHeaders);
    // The health check reveals nothing and must not depend on a setting.
    if (request.url === '/healthz' || isKnownHost(request.raw)) return;
    return sendRefusal(reply, unknownHost());
  });
  addHealthRoutes(app, readiness);
  addMetricsRoute(app, metrics);
  return app;
}
