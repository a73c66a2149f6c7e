// Health, readiness and metrics, for programs.
import { createMetricsProbe, type MetricsOptions } from './metrics-probe.ts';
import type { Probe } from './probe.ts';
import type { Readiness } from './readiness.ts';

export interface ProbeOptions {
  readiness: Pick<Readiness, 'report'>;
  metrics: MetricsOptions;
}

/** By path. */
export function createProbes({ readiness, metrics }: ProbeOptions): ReadonlyMap<string, Probe> {
  return new Map<string, Probe>([
    /** Liveness: the process runs. */
    ['/healthz', async () => ({ status: 200, body: { ok: true } })],
    /** Readiness: an orchestrator sends traffic only while this returns 200. */
    [
      '/readyz',
      async () => {
        const report = await readiness.report();
        return { status: report.ok ? 200 : 503, body: report };
      },
    ],
    ['/metrics', createMetricsProbe(metrics)],
  ]);
}
