// Requests per key, counted in the store for all processes on it. A store that does not answer in time is done without:
// limits must never take the API down.
import type { Rate } from '@tocsin/contract';
import type { ApiKey, LimitRepository, RateLimitState } from '../usecases/ports/index.ts';

export interface SharedCountsParts {
  counts: Pick<LimitRepository, 'count'>;
  /** Counts in this process alone. */
  fallback(key: ApiKey, rate: Rate): Promise<RateLimitState>;
  /** Told of changes: whether counts are shared, and if not, why. */
  onChange(isShared: boolean, cause?: string): void;
}

const patienceMs = 500;

interface Waiting {
  key: ApiKey;
  rate: Rate;
  resolve(standing: RateLimitState | Promise<RateLimitState>): void;
}

export class SharedCounts {
  readonly #parts: SharedCountsParts;
  #waiting: Waiting[] = [];
  #isAsking = false;
  /** The store has been asked and is late: nobody else waits for it until it has answered. */
  #isLate = false;
  #isShared = true;
  /** Until when a key has used up its limit; that is remembered here, so that a flood of refusals costs no query. */
  readonly #fullUntil = new Map<string, number>();

  constructor(parts: SharedCountsParts) {
    this.#parts = parts;
  }

  count(key: ApiKey, rate: Rate): RateLimitState | Promise<RateLimitState> {
    const msLeft = (this.#fullUntil.get(fullName(key, rate)) ?? 0) - performance.now();
    if (msLeft > 0) return { used: rate.requests + 1, msLeft };
    if (this.#isLate) return this.#parts.fallback(key, rate);
    return new Promise((resolve) => {
      this.#waiting.push({ key, rate, resolve });
      // After this turn of the event loop: what arrived together is counted together.
      if (!this.#isAsking) setImmediate(() => void this.#ask());
      this.#isAsking = true;
    });
  }

  /** One question at a time, for all that came during the one before: a busy key is one row, which all want to lock. */
  async #ask(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      const timer = setTimeout(() => {
        this.#isLate = true;
        this.#insure([...batch.splice(0), ...this.#waiting.splice(0)], `no answer within ${patienceMs} ms`);
      }, patienceMs);
      try {
        await this.#countTogether(batch);
      } catch (error) {
        this.#insure(batch, (error as Error).message);
      } finally {
        clearTimeout(timer);
        this.#isLate = false;
      }
    }
    this.#isAsking = false;
  }

  async #countTogether(batch: Waiting[]): Promise<void> {
    const groups = Object.values(Object.groupBy(batch, ({ key, rate }) => nameOf(key, rate))) as Waiting[][];
    const standings = await this.#parts.counts.count(
      groups.map((group) => {
        const { key, rate } = group[0] as Waiting;
        return { ownerId: key.ownerId, keyId: key.id, windowMs: rate.seconds * 1000, count: group.length };
      }),
    );
    if (!this.#isLate) this.#tell(true);
    for (const [index, group] of groups.entries()) {
      const { used, msLeft } = standings[index] as RateLimitState;
      const { key, rate } = group[0] as Waiting;
      if (used >= rate.requests) this.#fullUntil.set(fullName(key, rate), performance.now() + msLeft);
      else this.#fullUntil.delete(fullName(key, rate));
      // Each of them is told where it stood in the row.
      for (const [place, { resolve }] of group.entries()) resolve({ used: used - group.length + 1 + place, msLeft });
    }
  }

  #insure(batch: Waiting[], cause: string): void {
    this.#tell(false, cause);
    for (const { key, rate, resolve } of batch) resolve(this.#parts.fallback(key, rate));
  }

  #tell(isShared: boolean, cause?: string): void {
    if (this.#isShared === isShared) return;
    this.#isShared = isShared;
    this.#parts.onChange(isShared, cause);
  }
}

/** What the store counts. */
function nameOf({ id }: ApiKey, { seconds }: Rate): string {
  return `${id}/${seconds}`;
}

/** A quota that was raised counts at once. */
function fullName({ id }: ApiKey, { requests, seconds }: Rate): string {
  return `${id}/${requests}/${seconds}`;
}
