// Asking one worker for its numbers, for no longer than a scrape can wait.
import type { MetricSet } from './aggregate-metrics.ts';

const patienceMs = 1000;

export class MetricsInquiry {
  readonly #waiting = new Set<(metrics: MetricSet | null) => void>();
  readonly #post: () => void;

  /** `post` puts the question to the worker. */
  constructor(post: () => void) {
    this.#post = post;
  }

  /** null when no answer comes soon. */
  ask(): Promise<MetricSet | null> {
    return new Promise((resolve) => {
      const settle = (metrics: MetricSet | null): void => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        resolve(metrics);
      };
      const timer = setTimeout(settle, patienceMs, null);
      this.#waiting.add(settle);
      this.#post();
    });
  }

  /** What the worker answered, to all who wait; null when it has ended. */
  answer(metrics: MetricSet | null): void {
    for (const settle of [...this.#waiting]) settle(metrics);
  }
}
