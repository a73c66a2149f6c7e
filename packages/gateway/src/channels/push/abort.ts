import { addAbortListener } from 'node:events';

/** The promise, or a rejection with the signal's reason as soon as it aborts, whatever the promise does then. */
export function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const listener = addAbortListener(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(() => listener[Symbol.dispose]());
  });
}
