// How dispatches ended, on the way to the store. What was told to everybody is written in the background, many at a time;
// what failed is durable before the caller hears of it.
import { type DispatchRepository, type DispatchToSettle, StoreUnavailable } from '../usecases/ports/index.ts';

const flushAfterMs = 20;
const flushAt = 64;
const maxBatch = 500;
/** After a store that failed. */
const retryMs = 1000;
/** Beyond this the oldest are let go: their leases pass, and they are told once more. */
const maxKept = 100_000;

export class Settlements {
  readonly #dispatches: Pick<DispatchRepository, 'settle'>;
  readonly #onFailed: (error: unknown) => void;
  #kept: DispatchToSettle[] = [];
  /** Dispatches that this process answers for: told at this moment, or not written down yet. */
  readonly #open = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | null = null;

  constructor(dispatches: Pick<DispatchRepository, 'settle'>, onFailed: (error: unknown) => void) {
    this.#dispatches = dispatches;
    this.#onFailed = onFailed;
  }

  /** From now on this process answers for it, whatever the clock says about its lease. */
  expect(notificationId: string): void {
    this.#open.add(notificationId);
  }

  forget(notificationId: string): void {
    this.#open.delete(notificationId);
  }

  isOpen(notificationId: string): boolean {
    return this.#open.has(notificationId);
  }

  /** Writes it soon; until then a crash means that it is told once more. */
  later(settled: DispatchToSettle): void {
    this.#keep(settled);
    if (this.#kept.length === flushAt) void this.flush();
    else this.#flushAfter(flushAfterMs);
  }

  /** True once it is durable. A store that fails gets it later: as long as this process lives, nobody is told twice. */
  async now(settled: DispatchToSettle): Promise<boolean> {
    try {
      await this.#dispatches.settle([settled]);
      this.forget(settled.notificationId);
      return true;
    } catch (error) {
      this.#onFailed(error);
      if (error instanceof StoreUnavailable) {
        this.#keep(settled);
        this.#flushAfter(retryMs);
      } else this.forget(settled.notificationId);
      return false;
    }
  }

  /** Writes all there is; what the store does not take now is kept. */
  flush(): Promise<void> {
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  /** Writes what it can for the last time. */
  async close(): Promise<void> {
    await this.#flushing;
    await this.flush();
    clearTimeout(this.#timer);
  }

  #flushAfter(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.flush();
    }, ms);
  }

  async #write(): Promise<void> {
    while (this.#kept.length > 0) {
      const batch = this.#kept.splice(0, maxBatch);
      try {
        await this.#dispatches.settle(batch);
        for (const { notificationId } of batch) this.forget(notificationId);
      } catch (error) {
        if (error instanceof StoreUnavailable) {
          this.#onFailed(error);
          this.#kept.unshift(...batch);
          this.#flushAfter(retryMs);
          return;
        }
        // One that cannot be written, because its owner is gone, must not hold up the others.
        for (const settled of batch) await this.now(settled);
      }
    }
  }

  #keep(settled: DispatchToSettle): void {
    this.#kept.push(settled);
    if (this.#kept.length > maxKept) this.forget(this.#kept.shift()?.notificationId ?? '');
  }
}
