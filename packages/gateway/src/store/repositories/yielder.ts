import { setImmediate as breathe } from 'node:timers/promises';

/** So long at a time nobody else is served. */
const atMostMs = 2;

/** For work on many values on the thread that serves requests: to be awaited before each of them. */
export function createYielder(): () => Promise<void> | undefined {
  let breathedAt = performance.now();
  return () => {
    if (performance.now() - breathedAt < atMostMs) return undefined;
    return breathe().then(() => {
      breathedAt = performance.now();
    });
  };
}
