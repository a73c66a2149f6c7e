// One time budget for the whole shutdown: parts close in the reverse order of opening, and none can block the exit.
import { createDeadline } from '../core/deadline.ts';

export interface ShutdownObserver {
  /** A part exceeded its time and was abandoned. */
  onLate(part: string): void;
  onFailed(part: string, error: unknown): void;
}

export interface ShutdownBudget {
  totalMs: number;
  /** Share of totalMs reserved for the first part to close (in-flight requests, or the workers serving them). */
  firstMs: number;
}

/** A request waits up to 5 s for a store that hangs; the rest is for sending its response. */
const requestsMs = 5300;

/** Leaves 2 of the promised 10 s for flushing the log and for a store thread that is blocked on a lock. */
const totalMs = 8000;

/** Budget of a process that serves requests itself. */
export const singleProcessBudget: ShutdownBudget = { totalMs, firstMs: requestsMs };
export const workerBudget: ShutdownBudget = { totalMs: requestsMs + 1000, firstMs: requestsMs };
/** Budget of the primary, which waits for its workers. */
export const primaryBudget: ShutdownBudget = { totalMs, firstMs: workerBudget.totalMs + 500 };

/** Each further part may use this fraction of the remaining time, so that one that hangs leaves time for the next. */
const fractionOfRemaining = 2 / 3;

/** Sends in flight are aborted this long before the time of the first part ends. */
const abortSendsMs = 1000;

type Close<T> = (value: T, signal: AbortSignal) => PromiseLike<void> | void;

/** A stack of opened resources. The signal passed to a close function aborts when its time is over. */
export class ShutdownStack extends AsyncDisposableStack {
  readonly #observer: ShutdownObserver;
  readonly #budget: ShutdownBudget;
  readonly #abortSends = new AbortController();
  #endsAt: number | null = null;
  #isFirst = true;

  constructor(observer: ShutdownObserver, budget: ShutdownBudget) {
    super();
    this.#observer = observer;
    this.#budget = budget;
  }

  /** Aborts sends that hang while there is still time to respond to their callers. */
  get abortSends(): AbortSignal {
    return this.#abortSends.signal;
  }

  override adopt<T>(value: T, close: Close<T>, part = 'a part'): T {
    return super.adopt(value, () => this.#close(part, (signal) => close(value, signal)));
  }

  override defer(close: (signal: AbortSignal) => PromiseLike<void> | void, part = 'a part'): void {
    super.defer(() => this.#close(part, close));
  }

  override async disposeAsync(): Promise<void> {
    const { totalMs, firstMs } = this.#budget;
    this.#endsAt ??= performance.now() + totalMs;
    const timer = setTimeout(() => this.#abortSends.abort(), Math.max(0, firstMs - abortSendsMs));
    try {
      await super.disposeAsync();
    } finally {
      clearTimeout(timer);
    }
  }

  async #close(part: string, close: (signal: AbortSignal) => PromiseLike<void> | void): Promise<void> {
    const left = (this.#endsAt ?? performance.now()) - performance.now();
    using deadline = createDeadline(this.#isFirst ? this.#budget.firstMs : Math.max(0, left) * fractionOfRemaining);
    this.#isFirst = false;
    const late = Promise.withResolvers<void>();
    deadline.signal.addEventListener('abort', () => {
      this.#observer.onLate(part);
      late.resolve();
    });
    try {
      await Promise.race([Promise.try(close, deadline.signal), late.promise]);
    } catch (error) {
      // The remaining parts are closed nevertheless.
      this.#observer.onFailed(part, error);
    }
  }
}
