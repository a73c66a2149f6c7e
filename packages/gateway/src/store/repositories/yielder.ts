import { setImmediate as nextTurn } from 'node:timers/promises';

/** Time slice after which other work on the event loop gets its turn. */
const sliceMs = 2;

/** For loops over many values on the thread that serves requests: to be awaited before each value. */
export function createYielder(): () => Promise<void> | undefined {
  let startedAt = performance.now();
  return () => {
    if (performance.now() - startedAt < sliceMs) return undefined;
    return nextTurn().then(() => {
      startedAt = performance.now();
    });
  };
}
