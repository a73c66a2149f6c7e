// How dispatches ended, on the way to the store. What was told to everybody is written in the background, many at a time;
// what failed is durable before the caller hears of it.
import { type DeliveryStore, type DispatchToSettle, StoreUnavailable } from './ports.ts';

const flushAfterMs = 20;
const flushAt = 64;
/** After a store that failed. */
const retryMs = 1000;
const maxBatch = 500;
/** Beyond this the oldest are let go: their leases pass, and they are told once more. */
const maxKept = 100_000;

export class Settlements {
  readonly #store: Pick<DeliveryStore, 'settleDispatches'>;
  readonly #onFailed: (error: unknown) => void;
  #kept: DispatchToSettle[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(store: Pick<DeliveryStore, 'settleDispatches'>, onFailed: (error: unknown) => void) {
    this.#store = store;
    this.#onFailed = onFailed;
  }

  /** Writes it soon; until then a crash means that it is told once more. */
  later(settled: DispatchToSettle): void {
    this.#keep(settled);
    if (this.#kept.length >= flushAt) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), flushAfterMs);
  }

  /** True once it is durable. A store that fails gets it later: as long as this process lives, nobody is told twice. */
  async now(settled: DispatchToSettle): Promise<boolean> {
    try {
      await this.#store.settleDispatches([settled]);
      return true;
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        this.#keep(settled);
        this.#timer ??= setTimeout(() => void this.flush(), retryMs);
      }
      this.#onFailed(error);
      return false;
    }
  }

  /** Writes what it can for the last time. */
  async close(): Promise<void> {
    await this.flush();
    clearTimeout(this.#timer);
  }

  /** Writes all there is; what the store does not take now is kept. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  async #write(): Promise<void> {
    while (this.#kept.length > 0) {
      const batch = this.#kept.splice(0, maxBatch);
      try {
        await this.#store.settleDispatches(batch);
      } catch (error) {
        if (error instanceof StoreUnavailable) {
          this.#kept.unshift(...batch);
          this.#onFailed(error);
          this.#timer ??= setTimeout(() => void this.flush(), retryMs);
          return;
        }
        await this.#writeOneByOne(batch);
      }
    }
  }

  /** One that cannot be written, because its owner is gone, must not hold up the others. */
  async #writeOneByOne(batch: readonly DispatchToSettle[]): Promise<void> {
    for (const settled of batch) await this.now(settled);
  }

  #keep(settled: DispatchToSettle): void {
    this.#kept.push(settled);
    if (this.#kept.length > maxKept) this.#kept.shift();
  }
}
