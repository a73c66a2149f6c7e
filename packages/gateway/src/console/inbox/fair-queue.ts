import { setTimeout as delay } from 'node:timers/promises';

/** Runs tasks one at a time, in the order in which they were added. */
export type FairQueue = <T>(work: () => Promise<T>) => Promise<T>;

/** A longer task was itself waiting, so that a longer pause would not help other requests. */
const maxPauseMs = 100;

/** After each task the queue pauses for as long as the task took, which leaves half of the time to other requests. */
export function createFairQueue(): FairQueue {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    let startedAt = 0;
    const result = last.then(() => {
      startedAt = performance.now();
      return work();
    });
    const pause = () => delay(Math.min(maxPauseMs, performance.now() - startedAt));
    last = result.then(pause, pause);
    return result;
  };
}
