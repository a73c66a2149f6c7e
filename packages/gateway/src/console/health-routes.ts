import type { FastifyInstance } from 'fastify';
import type { Readiness } from './readiness.ts';

export function addHealthRoutes(app: FastifyInstance, readiness: Pick<Readiness, 'report'>): void {
  /** Liveness: the process runs. */
  app.get('/healthz', async () => ({ ok: true }));

  /** Readiness: an orchestrator sends traffic only while this returns 200. */
  app.get('/readyz', async (_request, reply) => {
    const report = await readiness.report();
    return reply.code(report.ok ? 200 : 503).send(report);
  });
}
