import { setTimeout as delay } from 'node:timers/promises';

/** Work that is done one after the other, in the order of asking. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Longer is no use: what took longer than this was waiting itself. */
const longestRestMs = 100;

/** After each turn comes a rest as long as the turn was, in which everybody else is served. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    let startedAt = 0;
    const mine = last.then(() => {
      startedAt = performance.now();
      return work();
    });
    const rest = () => delay(Math.min(longestRestMs, performance.now() - startedAt));
    last = mine.then(rest, rest);
    return mine;
  };
}
