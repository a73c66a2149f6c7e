import { StoreUnavailable } from '../../usecases/ports/index.ts';

/** If no write of this process ends for this time the database hangs; a long queue that makes progress does not count. */
const stallMs = 5000;

/** Runs writes one after the other, and rejects those that wait for a database that hangs. */
export class SerialWrites {
  #progressAt = performance.now();
  #last: Promise<unknown> = Promise.resolve();

  run<T>(write: () => Promise<T>): Promise<T> {
    const queuedAt = performance.now();
    const start = async (): Promise<T> => {
      // The caller was rejected already.
      if (this.#msUntilStalled(queuedAt) <= 0) throw stalled();
      return write();
    };
    const turn = this.#last.then(start, start);
    const ended = (error?: unknown): void => {
      if (!(error instanceof StoreUnavailable)) this.#progressAt = performance.now();
    };
    this.#last = turn.then(() => ended(), ended);
    return this.#unlessStalled(turn, queuedAt);
  }

  /** How long a write that was queued at that time may still wait before the database counts as hanging. */
  #msUntilStalled(queuedAt: number): number {
    return Math.max(queuedAt, this.#progressAt) + stallMs - performance.now();
  }

  #unlessStalled<T>(turn: Promise<T>, queuedAt: number): Promise<T> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout;
      const check = (): void => {
        const leftMs = this.#msUntilStalled(queuedAt);
        if (leftMs <= 0) reject(stalled());
        else timer = setTimeout(check, leftMs);
      };
      timer = setTimeout(check, stallMs);
      turn.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}

function stalled(): StoreUnavailable {
  return new StoreUnavailable(`the database did not answer within ${stallMs} ms`);
}
