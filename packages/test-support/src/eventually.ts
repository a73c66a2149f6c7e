import { setTimeout as delay } from 'node:timers/promises';

/** Asks until the answer is good enough. After the deadline it fails with the last answer, however it looked. */
export async function eventually<T>(
  expectation: string,
  withinMs: number,
  ask: () => T | Promise<T>,
  isEnough: (answer: T) => boolean,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (isEnough(answer)) return answer;
    if (performance.now() > deadline) {
      throw new Error(`${expectation}: not within ${withinMs} ms; the last answer was ${JSON.stringify(answer)}`);
    }
    await delay(10);
  }
}
