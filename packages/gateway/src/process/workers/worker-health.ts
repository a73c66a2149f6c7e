// Decides when a worker counts as hung, and when a worker that exited is replaced.

export const heartbeatMs = 1000;
const missedBeatsWhenHung = 10;
/** A start takes longer: it reads the database and may have to wait for it. */
const missedBeatsWhenStarting = 60;

/**
 * Counts pings, not seconds: a machine that was suspended for an hour, or a primary that was busy, has sent none in the
 * meantime.
 */
export class Heartbeat {
  #missed = 0;
  #isUp = false;

  received(): void {
    this.#missed = 0;
  }

  up(): void {
    this.#isUp = true;
    this.#missed = 0;
  }

  /** Counts another ping; returns whether the worker has missed too many in a row. */
  sent(): boolean {
    this.#missed += 1;
    return this.#missed > (this.#isUp ? missedBeatsWhenHung : missedBeatsWhenStarting);
  }
}

/** A worker that ran at least this long did not crash because of its start. */
const stableMs = 10_000;
const minDelayMs = 100;
const maxDelayMs = 10_000;

/** The first replacement is immediate; exponential backoff while workers crash soon after their start. */
export class RestartDelay {
  #crashes = 0;

  afterMs(uptimeMs: number): number {
    if (uptimeMs >= stableMs) this.#crashes = 0;
    const delay = this.#crashes === 0 ? 0 : Math.min(maxDelayMs, minDelayMs * 2 ** (this.#crashes - 1));
    this.#crashes += 1;
    return delay;
  }
}
