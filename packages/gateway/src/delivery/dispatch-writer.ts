// Writes the results of dispatches to the store. Successes are written in the background, many at a time; failures are
// durable before the caller gets the response.
import { type DispatchRepository, type DispatchToSettle, StoreUnavailable } from '../usecases/ports/index.ts';

const flushAfterMs = 20;
const flushAt = 64;
const maxBatch = 500;
/** Delay after a failed write. */
const retryMs = 1000;
/** Beyond this the oldest results are dropped: their leases expire, and their notifications are sent a second time. */
const maxPending = 100_000;

export class DispatchWriter {
  readonly #dispatches: Pick<DispatchRepository, 'settle'>;
  readonly #onFailed: (error: unknown) => void;
  #pending: DispatchToSettle[] = [];
  /** Dispatches of this process that are being sent, or whose result is not stored yet. */
  readonly #tracked = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | null = null;

  constructor(dispatches: Pick<DispatchRepository, 'settle'>, onFailed: (error: unknown) => void) {
    this.#dispatches = dispatches;
    this.#onFailed = onFailed;
  }

  /** Marks a dispatch as held by this process, whatever the clock says about its lease. */
  track(notificationId: string): void {
    this.#tracked.add(notificationId);
  }

  untrack(notificationId: string): void {
    this.#tracked.delete(notificationId);
  }

  isTracked(notificationId: string): boolean {
    return this.#tracked.has(notificationId);
  }

  /** Writes the result soon. If the process dies before that, the notification is sent a second time. */
  enqueue(settled: DispatchToSettle): void {
    this.#keep(settled);
    if (this.#pending.length === flushAt) void this.flush();
    else this.#flushAfter(flushAfterMs);
  }

  /** True once the result is durable. If the store fails, it is written later; until then this process sends nothing twice. */
  async write(settled: DispatchToSettle): Promise<boolean> {
    try {
      await this.#dispatches.settle([settled]);
      this.untrack(settled.notificationId);
      return true;
    } catch (error) {
      this.#onFailed(error);
      if (error instanceof StoreUnavailable) {
        this.#keep(settled);
        this.#flushAfter(retryMs);
      } else this.untrack(settled.notificationId);
      return false;
    }
  }

  /** Writes all pending results; those that the store does not accept stay pending. */
  flush(): Promise<void> {
    this.#flushing ??= this.#writeAll().finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  /** Flushes for the last time. */
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

  async #writeAll(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, maxBatch);
      try {
        await this.#dispatches.settle(batch);
        for (const { notificationId } of batch) this.untrack(notificationId);
      } catch (error) {
        if (error instanceof StoreUnavailable) {
          this.#onFailed(error);
          this.#pending.unshift(...batch);
          this.#flushAfter(retryMs);
          return;
        }
        // A result that cannot be written, because its owner was deleted, must not block the others.
        for (const settled of batch) await this.write(settled);
      }
    }
  }

  #keep(settled: DispatchToSettle): void {
    this.#pending.push(settled);
    if (this.#pending.length > maxPending) this.untrack(this.#pending.shift()?.notificationId ?? '');
  }
}
