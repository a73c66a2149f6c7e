// Requests the metrics of one worker, within the timeout of a scrape.
import type { MetricSet } from './aggregate-metrics.ts';

const timeoutMs = 1000;

export class MetricsRequest {
  readonly #waiting = new Set<(metrics: MetricSet | null) => void>();
  readonly #post: () => void;

  /** `post` sends the request to the worker. */
  constructor(post: () => void) {
    this.#post = post;
  }

  /** null: the worker did not respond in time. */
  send(): Promise<MetricSet | null> {
    return new Promise((resolve) => {
      const settle = (metrics: MetricSet | null): void => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        resolve(metrics);
      };
      const timer = setTimeout(settle, timeoutMs, null);
      this.#waiting.add(settle);
      this.#post();
    });
  }

  /** Settles all pending requests with the metrics of the worker; null: it has exited. */
  settle(metrics: MetricSet | null): void {
    for (const settle of [...this.#waiting]) settle(metrics);
  }
}
