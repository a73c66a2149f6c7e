// Callers that send one notification after another, each under an Idempotency-Key of its own, and record the responses.
import { pauseBetweenRequests } from './pace.ts';
import { notify } from './requests.ts';

export interface Acknowledged {
  id: string;
  title: string;
  /** The Idempotency-Key, which is also the title. */
  at: number;
  ms: number;
}

export class KeyedLoad {
  readonly acknowledged: Acknowledged[] = [];
  readonly refused: string[] = [];
  #isOver = false;
  #count = 0;
  readonly #callers: Promise<void>[];

  constructor(target: { api: string; key: string }, callers = 16) {
    this.#callers = Array.from({ length: callers }, () => this.#send(target));
  }

  /** Sends no further requests; resolves when those in flight have got their responses. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#callers);
  }

  /** The 99th percentile of the response times in this interval. */
  p99(from: number, to: number): number {
    const sorted = this.acknowledged
      .filter(({ at }) => at >= from && at <= to)
      .map(({ ms }) => ms)
      .sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
  }

  async #send(target: { api: string; key: string }): Promise<void> {
    while (!this.#isOver) {
      this.#count += 1;
      const title = `notification-${this.#count}`;
      const startedAt = performance.now();
      const { status, body } = await notify(target, { title }, { 'Idempotency-Key': title });
      const at = performance.now();
      if (status === 200 && body.stored) this.acknowledged.push({ id: body.id, title, at, ms: at - startedAt });
      else this.refused.push(JSON.stringify(body));
      await pauseBetweenRequests();
    }
  }
}
