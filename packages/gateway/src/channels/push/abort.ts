import { addAbortListener } from 'node:events';

/** The promise, or a rejection with the signal's reason as soon as it aborts, whatever the promise does then. */
export function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const listener = addAbortListener(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(() => listener[Symbol.dispose]());
  });
}

export interface Deadline extends Disposable {
  signal: AbortSignal;
  /** True when time ran out, ours or that of whoever called; false when the wait was called off. */
  isOver(): boolean;
}

/** Aborts after `ms`, or with `outer`. The timer keeps the process alive, unlike that of AbortSignal.timeout. */
export function createDeadline(ms: number, outer?: AbortSignal): Deadline {
  const own = new AbortController();
  const timer = setTimeout(() => own.abort(new DOMException('Time is up', 'TimeoutError')), ms);
  const signal = outer === undefined ? own.signal : AbortSignal.any([own.signal, outer]);
  return {
    signal,
    // The name that AbortSignal.timeout gives its reason.
    isOver: () => (signal.reason as Error | undefined)?.name === 'TimeoutError',
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
