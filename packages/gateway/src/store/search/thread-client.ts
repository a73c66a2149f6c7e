// The main thread's end of the search thread: jobs out, results in, a deadline on each row.
import { Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { RowResult, SearchJob, SearchReply } from './protocol.ts';

/** `skipped`: the row was not looked through in time. */
export type RowOutcome = RowResult | { kind: 'skipped' };

export interface SearchThreadOptions {
  script?: URL;
  rowDeadlineMs?: number;
  idleMs?: number;
}

/** A row of the usual limit takes about 50 ms; the rest is for a machine that is busy with something else. */
const defaultRowDeadlineMs = 2000;
/** Where the operator allows larger bodies. */
const moreMsPerMegabyte = 500;
/** Nobody searches for this long: the thread ends and gives its memory back. */
const defaultIdleMs = 60_000;
/** Loading the program of the thread, on a machine that is busy. */
const startDeadlineMs = 20_000;

/** A row that needs more than this ends the thread, and is skipped. Less garbage is left lying about, too. */
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

  /** The outcomes of the rows in their order, up to the row of the last match wanted. One job runs at a time. */
  search(job: Omit<SearchJob, 'id'>, signal: AbortSignal): Promise<RowOutcome[]> {
    const running = this.#last.then(() => this.#lookThrough(job, signal));
    this.#last = running.catch(() => undefined);
    return running;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  async #lookThrough(job: Omit<SearchJob, 'id'>, signal: AbortSignal): Promise<RowOutcome[]> {
    clearTimeout(this.#idleTimer);
    const outcomes: RowOutcome[] = [];
    const matches = (): number => outcomes.filter(({ kind }) => kind === 'match').length;
    while (outcomes.length < job.rows.length && matches() < job.mostMatches && !signal.aborted) {
      if (this.#isClosed) throw new StoreUnavailable('the store is closed');
      const rest = { ...job, rows: job.rows.slice(outcomes.length), mostMatches: job.mostMatches - matches() };
      const { results, isWhole } = await this.#run(rest);
      outcomes.push(...results);
      // Whatever the next row did to the thread, the rows after it are looked through by another one.
      if (!isWhole) outcomes.push({ kind: 'skipped' });
    }
    this.#idleTimer = setTimeout(() => void this.#end(), this.#idleMs).unref();
    return outcomes;
  }

  /** Not whole: the row after the last result took too long, or ended the thread. */
  async #run(job: Omit<SearchJob, 'id'>): Promise<{ results: RowResult[]; isWhole: boolean }> {
    const id = this.#nextId++;
    const worker = this.#running();
    const results: RowResult[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    let hasBegun = false;
    const giveUp = (cause: string): void =>
      hasBegun ? resolve(false) : reject(new StoreUnavailable(`the search thread ${cause}`));
    let timer = setTimeout(() => giveUp('did not start in time'), startDeadlineMs);
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
      timer = setTimeout(() => giveUp('was too slow'), this.#rowDeadlineMs + more);
    };
    // Only `exit` comes after all messages; `error` may overtake them.
    const onExit = (): void => giveUp('ended');
    worker.on('message', onMessage).on('exit', onExit);
    let isWhole = false;
    try {
      worker.postMessage({ id, ...job } satisfies SearchJob);
      isWhole = await promise;
      return { results, isWhole };
    } finally {
      clearTimeout(timer);
      worker.off('message', onMessage).off('exit', onExit);
      if (!isWhole) void this.#end();
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
