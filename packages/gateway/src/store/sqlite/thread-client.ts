// The main thread's side of a database thread, with a deadline for each request.
import { Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { ConstraintViolated } from '../schema/database.ts';
import {
  type Envelope,
  type Failure,
  isFailure,
  type Replies,
  type Reply,
  type Request,
  type ThreadOptions,
} from './protocol.ts';

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const closeMs = 5000;

export class ThreadClient {
  readonly #options: ThreadOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #workers = 0;
  #nextId = 1;
  #isClosed = false;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  ask<R extends Request>(request: R, deadlineMs?: number): Promise<Replies[R['kind']]> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the store is closed'));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const timer =
        deadlineMs === undefined
          ? undefined
          : setTimeout(() => {
              this.#waiting.delete(id);
              reject(new StoreUnavailable(`the database did not answer within ${deadlineMs} ms`));
            }, deadlineMs);
      this.#waiting.set(id, {
        resolve: (value) => {
          clearTimeout(timer);
          resolve(value as Replies[R['kind']]);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      this.#running().postMessage({ id, ...request } satisfies Envelope<Request>);
    });
  }

  /** Starts the thread if it is not running; returns its number, which a replacement does not have. */
  start(): number {
    if (!this.#isClosed) this.#running();
    return this.#workers;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker !== null && !this.#isClosed) {
      // A disk that hangs must not delay the shutdown: acknowledged data is on disk already.
      await this.ask({ kind: 'close' }, closeMs).catch(() => undefined);
    }
    this.#isClosed = true;
    this.#worker = null;
    await worker?.terminate();
  }

  /** A thread that has died is replaced at the next request. */
  #running(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: this.#options });
    worker.on('message', (reply: Envelope<Reply>) => this.#settle(reply));
    worker.on('error', (error) => this.#lose(worker, error as Error));
    worker.on('exit', () => this.#lose(worker, new Error('it exited')));
    this.#worker = worker;
    this.#workers += 1;
    return worker;
  }

  #settle(reply: Envelope<Reply>): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (isFailure(reply)) waiting?.reject(toError(reply));
    else waiting?.resolve((reply as { value: unknown }).value);
  }

  #lose(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    for (const waiting of this.#waiting.values()) {
      waiting.reject(new StoreUnavailable(`the database thread ended: ${error.message}`));
    }
    this.#waiting.clear();
  }
}

export function toError({ failure, message, code }: Failure): Error {
  if (failure === 'unavailable') return new StoreUnavailable(message, { cause: code });
  if (failure === 'conflict') return new ConstraintViolated(message);
  return new Error(message);
}
