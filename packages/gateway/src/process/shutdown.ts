// One budget for the whole stop: parts are closed in the opposite order of their opening, and none can hold up the end.
import { createDeadline } from '../core/deadline.ts';

export interface StopNotices {
  /** A part did not close in its time and was left behind. */
  onLate(part: string): void;
  onFailed(part: string, error: unknown): void;
}

export interface StopBudget {
  totalMs: number;
  /** Of it, for the part that closes first: the requests under way, or the workers that have them. */
  firstMs: number;
}

/** A store that hangs is waited for five seconds; whoever waits for it is still to be answered. */
const requestsMs = 5300;

/** Of ten seconds; the rest is for the log, and for a thread of the store that waits for a lock, which the process waits for. */
const totalMs = 8000;

/** Of a process that serves requests itself. */
export const ownBudget: StopBudget = { totalMs, firstMs: requestsMs };
export const workerBudget: StopBudget = { totalMs: requestsMs + 1000, firstMs: requestsMs };
/** Of the head that waits for them. */
export const headBudget: StopBudget = { totalMs, firstMs: workerBudget.totalMs + 500 };

/** What each further part may use of the time that is left, so that one that hangs leaves some to those after it. */
const share = 2 / 3;

/** So long before the time of the first part is up, sends under way are called off. */
const lastCallMs = 1000;

type Close<T> = (value: T, signal: AbortSignal) => PromiseLike<void> | void;

/** A stack of what was opened. The signal that a close function gets aborts when its time is up. */
export class OrderlyStop extends AsyncDisposableStack {
  readonly #notices: StopNotices;
  readonly #budget: StopBudget;
  readonly #lastCall = new AbortController();
  #endsAt: number | null = null;
  #isFirst = true;

  constructor(notices: StopNotices, budget: StopBudget) {
    super();
    this.#notices = notices;
    this.#budget = budget;
  }

  /** Aborts while there is still time to answer those whose sends do not come to an end. */
  get lastCall(): AbortSignal {
    return this.#lastCall.signal;
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
    const timer = setTimeout(() => this.#lastCall.abort(), Math.max(0, firstMs - lastCallMs));
    try {
      await super.disposeAsync();
    } finally {
      clearTimeout(timer);
    }
  }

  async #close(part: string, close: (signal: AbortSignal) => PromiseLike<void> | void): Promise<void> {
    const left = (this.#endsAt ?? performance.now()) - performance.now();
    using deadline = createDeadline(this.#isFirst ? this.#budget.firstMs : Math.max(0, left) * share);
    this.#isFirst = false;
    const late = Promise.withResolvers<void>();
    deadline.signal.addEventListener('abort', () => {
      this.#notices.onLate(part);
      late.resolve();
    });
    try {
      await Promise.race([Promise.try(close, deadline.signal), late.promise]);
    } catch (error) {
      // The others are closed all the same.
      this.#notices.onFailed(part, error);
    }
  }
}
