// The owner's and operator's side, on a listener of its own.
import Fastify, { type FastifyInstance } from 'fastify';
import type { Store } from '../gateway/ports.ts';

export function createConsole(store: Pick<Store, 'check'>): FastifyInstance {
  const app = Fastify({ logger: false, requestTimeout: 15_000, keepAliveTimeout: 75_000 });

  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ ok: false, error: 'Not found', links: ['/healthz', '/readyz'] }),
  );

  /** The process runs. */
  app.get('/healthz', async () => ({ ok: true }));

  /** The process can do its work: an orchestrator sends traffic only while this says so. */
  app.get('/readyz', async (_request, reply) => {
    try {
      await store.check();
      return { ok: true, store: 'ok' };
    } catch {
      return reply.code(503).send({ ok: false, store: 'unavailable' });
    }
  });

  return app;
}
