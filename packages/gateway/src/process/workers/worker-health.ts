// When a worker counts as hung, and how soon a dead one is replaced.

/** Asked once a second. */
export const askEveryMs = 1000;
const missedToBeHung = 10;
/** A start reads the database and may have to wait for it. */
const missedToBeStuck = 60;

/**
 * Counts questions, not seconds: a machine that slept for an hour, or a head that was busy itself, has not asked in the
 * meantime.
 */
export class Pulse {
  #unanswered = 0;
  #isUp = false;

  answered(): void {
    this.#unanswered = 0;
  }

  up(): void {
    this.#isUp = true;
    this.#unanswered = 0;
  }

  /** Notes another question; says whether the worker has left too many unanswered. */
  ask(): boolean {
    this.#unanswered += 1;
    return this.#unanswered > (this.#isUp ? missedToBeHung : missedToBeStuck);
  }
}

/** A worker that lived so long did not die of its start. */
const steadyMs = 10_000;
const leastMs = 100;
const mostMs = 10_000;

/** The first is replaced at once; while they die young, each of the next a while later. */
export class RestartDelay {
  #diedYoung = 0;

  afterMs(livedMs: number): number {
    if (livedMs >= steadyMs) this.#diedYoung = 0;
    const delay = this.#diedYoung === 0 ? 0 : Math.min(mostMs, leastMs * 2 ** (this.#diedYoung - 1));
    this.#diedYoung += 1;
    return delay;
  }
}
