// Requests per key, counted in the store for all processes on it. If the store does not respond in time, requests are
// counted per process: limits must never take the API down.
import type { Rate } from '@tocsin/contract';
import type { LimitedCredential, LimitRepository, RateLimitState } from '../usecases/ports/index.ts';

export interface SharedCountsDeps {
  counts: Pick<LimitRepository, 'count'>;
  /** Counts in this process only. */
  fallback(key: LimitedCredential, rate: Rate): Promise<RateLimitState>;
  /** Called on changes: whether counts are shared, and if not, why. */
  onChange(isShared: boolean, cause?: string): void;
}

const timeoutMs = 500;

interface Waiting {
  key: LimitedCredential;
  rate: Rate;
  resolve(state: RateLimitState | Promise<RateLimitState>): void;
}

export class SharedCounts {
  readonly #deps: SharedCountsDeps;
  #waiting: Waiting[] = [];
  #isCounting = false;
  /** A query exceeded the timeout: no other request waits for the store until it responds. */
  #isLate = false;
  #isShared = true;
  /** End of the window of keys at their limit, so that refusals during a flood need no query. */
  readonly #fullUntil = new Map<string, number>();

  constructor(deps: SharedCountsDeps) {
    this.#deps = deps;
  }

  count(key: LimitedCredential, rate: Rate): RateLimitState | Promise<RateLimitState> {
    const msLeft = (this.#fullUntil.get(fullName(key, rate)) ?? 0) - performance.now();
    if (msLeft > 0) return { used: rate.requests + 1, msLeft };
    if (this.#isLate) return this.#deps.fallback(key, rate);
    return new Promise((resolve) => {
      this.#waiting.push({ key, rate, resolve });
      // In the next iteration of the event loop, so that requests that arrived together are counted together.
      if (!this.#isCounting) setImmediate(() => void this.#countWaiting());
      this.#isCounting = true;
    });
  }

  /** One query at a time, for all requests that arrived during the previous one: a busy key is one row with one lock. */
  async #countWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      const timer = setTimeout(() => {
        this.#isLate = true;
        this.#useFallback([...batch.splice(0), ...this.#waiting.splice(0)], `no response within ${timeoutMs} ms`);
      }, timeoutMs);
      try {
        await this.#countTogether(batch);
      } catch (error) {
        this.#useFallback(batch, (error as Error).message);
      } finally {
        clearTimeout(timer);
        this.#isLate = false;
      }
    }
    this.#isCounting = false;
  }

  async #countTogether(batch: Waiting[]): Promise<void> {
    const groups = Object.values(Object.groupBy(batch, ({ key, rate }) => nameOf(key, rate))) as Waiting[][];
    const states = await this.#deps.counts.count(
      groups.map((group) => {
        const { key, rate } = group[0] as Waiting;
        return { ownerId: key.ownerId, keyId: key.id, windowMs: rate.seconds * 1000, count: group.length };
      }),
    );
    if (!this.#isLate) this.#report(true);
    for (const [index, group] of groups.entries()) {
      const { used, msLeft } = states[index] as RateLimitState;
      const { key, rate } = group[0] as Waiting;
      if (used >= rate.requests) this.#fullUntil.set(fullName(key, rate), performance.now() + msLeft);
      else this.#fullUntil.delete(fullName(key, rate));
      // Each request of the group gets its own position in the count.
      for (const [place, { resolve }] of group.entries()) resolve({ used: used - group.length + 1 + place, msLeft });
    }
  }

  #useFallback(batch: Waiting[], cause: string): void {
    this.#report(false, cause);
    for (const { key, rate, resolve } of batch) resolve(this.#deps.fallback(key, rate));
  }

  #report(isShared: boolean, cause?: string): void {
    if (this.#isShared === isShared) return;
    this.#isShared = isShared;
    this.#deps.onChange(isShared, cause);
  }
}

/** Identifies a counter in the store. */
function nameOf({ id }: LimitedCredential, { seconds }: Rate): string {
  return `${id}/${seconds}`;
}

/** Includes the limit, so that a raised limit takes effect at once. */
function fullName({ id }: LimitedCredential, { requests, seconds }: Rate): string {
  return `${id}/${requests}/${seconds}`;
}
