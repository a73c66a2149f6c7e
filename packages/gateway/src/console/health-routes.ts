import type { FastifyInstance } from 'fastify';
import type { Readiness } from './readiness.ts';

export function addHealthRoutes(app: FastifyInstance, readiness: Pick<Readiness, 'report'>): void {
  /** The process runs. */
  app.get('/healthz', async () => ({ ok: true }));

  /** The process can do its work: an orchestrator sends traffic only while this says so. */
  app.get('/readyz', async (_request, reply) => {
    const report = await readiness.report();
    return reply.code(report.ok ? 200 : 503).send(report);
  });
}
