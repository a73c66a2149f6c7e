import { setTimeout as delay } from 'node:timers/promises';

/** The shortest pause between two readings, and the longest. */
const [leastMs, mostMs] = [10, 250];

/**
 * Polls until the value satisfies the condition. After the timeout it fails with the last value. By default a pause is as
 * long as the reading before it took, and longer the longer it waits: waiting leaves the processor to the processes under
 * test.
 */
export async function eventually<T>(
  expectation: string,
  withinMs: number,
  read: () => T | Promise<T>,
  isMet: (value: T) => boolean,
  everyMs?: number,
): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    const readAt = performance.now();
    const value = await read();
    if (isMet(value)) return value;
    const now = performance.now();
    const waitedMs = now - startedAt;
    if (waitedMs > withinMs) {
      throw new Error(`${expectation}: not within ${withinMs} ms; the last value was ${JSON.stringify(value)}`);
    }
    await delay(everyMs ?? Math.min(mostMs, Math.max(leastMs, now - readAt, waitedMs / 50)));
  }
}
