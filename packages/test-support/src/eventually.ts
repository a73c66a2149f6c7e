import { setTimeout as delay } from 'node:timers/promises';

/** Polls until the value satisfies the condition. After the timeout it fails with the last value. */
export async function eventually<T>(
  expectation: string,
  withinMs: number,
  read: () => T | Promise<T>,
  isMet: (value: T) => boolean,
  everyMs = 10,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await read();
    if (isMet(value)) return value;
    if (performance.now() > deadline) {
      throw new Error(`${expectation}: not within ${withinMs} ms; the last value was ${JSON.stringify(value)}`);
    }
    await delay(everyMs);
  }
}
