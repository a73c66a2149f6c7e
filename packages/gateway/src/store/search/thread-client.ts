// The main thread's side of the search thread, with a deadline for each row.
import { Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { RowResult, SearchJob, SearchReply } from './protocol.ts';

/** `skipped`: the search of the row timed out. */
export type RowOutcome = RowResult | { kind: 'skipped' };

export interface SearchThreadOptions {
  script?: URL;
  rowDeadlineMs?: number;
  idleMs?: number;
}

/** A row of the default maximum size takes about 50 ms; the rest is for a busy machine. */
const defaultRowDeadlineMs = 2000;
/** For rows above the default maximum size, if the operator allows them. */
const moreMsPerMegabyte = 500;
/** After this time without a search the thread ends and frees its memory. */
const defaultIdleMs = 60_000;
/** For loading the script of the thread on a busy machine. */
const startDeadlineMs = 20_000;

/** A row that exceeds these limits ends the thread, and is skipped. They also make the garbage collector run more often. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

export class SearchThread {
  readonly #script: URL;
  readonly #rowDeadlineMs: number;
  readonly #idleMs: number;
  #worker: Worker | null = null;
  #idleTimer: NodeJS.Timeout | undefined;
  #nextId = 1;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: SearchThreadOptions = {}) {
    this.#script = options.script ?? new URL('./thread.ts', import.meta.url);
    this.#rowDeadlineMs = options.rowDeadlineMs ?? defaultRowDeadlineMs;
    this.#idleMs = options.idleMs ?? defaultIdleMs;
  }

  /** Returns the outcomes of the rows in order, up to the row with the last requested match. One job runs at a time. */
  search(job: Omit<SearchJob, 'id'>, signal: AbortSignal): Promise<RowOutcome[]> {
    const running = this.#last.then(() => this.#searchRows(job, signal));
    this.#last = running.catch(() => undefined);
    return running;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  async #searchRows(job: Omit<SearchJob, 'id'>, signal: AbortSignal): Promise<RowOutcome[]> {
    clearTimeout(this.#idleTimer);
    const outcomes: RowOutcome[] = [];
    const matches = (): number => outcomes.filter(({ kind }) => kind === 'match').length;
    while (outcomes.length < job.rows.length && matches() < job.mostMatches && !signal.aborted) {
      if (this.#isClosed) throw new StoreUnavailable('the store is closed');
      const rest = { ...job, rows: job.rows.slice(outcomes.length), mostMatches: job.mostMatches - matches() };
      const { results, isComplete } = await this.#run(rest);
      outcomes.push(...results);
      // The next row timed out or ended the thread: the rows after it are searched by another thread.
      if (!isComplete) outcomes.push({ kind: 'skipped' });
    }
    this.#idleTimer = setTimeout(() => void this.#end(), this.#idleMs).unref();
    return outcomes;
  }

  /** `isComplete` is false if the row after the last result timed out, or ended the thread. */
  async #run(job: Omit<SearchJob, 'id'>): Promise<{ results: RowResult[]; isComplete: boolean }> {
    const id = this.#nextId++;
    const worker = this.#running();
    const results: RowResult[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    let hasBegun = false;
    const fail = (cause: string): void =>
      hasBegun ? resolve(false) : reject(new StoreUnavailable(`the search thread ${cause}`));
    let timer = setTimeout(() => fail('did not start in time'), startDeadlineMs);
    const onMessage = (reply: SearchReply): void => {
      if (reply.id !== id) return;
      clearTimeout(timer);
      if (reply.kind === 'end') {
        resolve(true);
        return;
      }
      hasBegun = true;
      if (reply.kind === 'row') results.push(reply.result);
      const bytes = job.rows[results.length]?.sealed.length ?? 0;
      const more = (bytes / 1_000_000) * moreMsPerMegabyte;
      timer = setTimeout(() => fail('was too slow'), this.#rowDeadlineMs + more);
    };
    // `exit` is emitted after all messages; `error` may come before them.
    const onExit = (): void => fail('ended');
    worker.on('message', onMessage).on('exit', onExit);
    let isComplete = false;
    try {
      worker.postMessage({ id, ...job } satisfies SearchJob);
      isComplete = await promise;
      return { results, isComplete };
    } finally {
      clearTimeout(timer);
      worker.off('message', onMessage).off('exit', onExit);
      if (!isComplete) void this.#end();
    }
  }

  #running(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(this.#script, { resourceLimits });
    worker.unref();
    worker.on('error', () => this.#forget(worker));
    worker.on('exit', () => this.#forget(worker));
    this.#worker = worker;
    return worker;
  }

  #forget(worker: Worker): void {
    if (this.#worker === worker) this.#worker = null;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}
