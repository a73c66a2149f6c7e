// Group commit: collects notifications while batches are being committed, so that one round trip and one sync serve many
// requests.
import { EncryptionKeyMissing, StoreUnavailable } from '../../usecases/ports/index.ts';
import type { Appended, EncryptionKey, OnBatch, PlainNotification } from '../schema/database.ts';

const maxBatch = 256;
/** A batch of this size is sent without waiting for more, so that server and event loop work in parallel. */
const eagerBatch = 32;
export const maxInFlight = 3;
/** Limits the size of a batch, so that requests behind it are not delayed. */
const maxBatchCharacters = 8 * 1024 * 1024;
/** Content queued in memory for a server that hangs; beyond it requests fail at once. */
const maxWaitingCharacters = 256 * 1024 * 1024;
/** Memory of a queued request besides its content. */
const overheadCharacters = 1024;

export interface RowToAppend {
  row: PlainNotification;
  key: EncryptionKey;
}

/** `orphan`: the owner does not exist. */
export type Result = Appended | 'orphan';

/** Appends the rows in one transaction; returns one result for each, in order. */
export type Commit = (rows: readonly RowToAppend[], deadlineAt: number) => Promise<Result[]>;

export interface Deadlines {
  /** From the call to its result. */
  wholeMs: number;
  /** In the queue, so that time is left for the commit. */
  waitingMs: number;
}

interface Job extends RowToAppend {
  since: number;
  size: number;
  resolve(result: Appended): void;
  reject(error: unknown): void;
}

export class AppendQueue {
  readonly #commit: Commit;
  readonly #deadlines: Deadlines;
  readonly #onBatch: OnBatch | undefined;
  #waiting: Job[] = [];
  #waitingCharacters = 0;
  #inFlight = 0;
  #isScheduled = false;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(commit: Commit, deadlines: Deadlines, onBatch?: OnBatch) {
    this.#commit = commit;
    this.#deadlines = deadlines;
    this.#onBatch = onBatch;
  }

  append(row: PlainNotification, key: EncryptionKey): Promise<Appended> {
    const size = row.content.length + overheadCharacters;
    if (this.#waitingCharacters + size > maxWaitingCharacters) {
      return Promise.reject(new StoreUnavailable('too many writes are queued'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ row, key, since: performance.now(), size, resolve, reject });
      this.#waitingCharacters += size;
      this.#watchdog ??= setTimeout(() => this.#expire(), this.#deadlines.waitingMs);
      if (this.#waiting.length >= eagerBatch && this.#inFlight < maxInFlight) void this.#commitNext();
      else this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight > 0) return;
    this.#isScheduled = true;
    // After this turn of the event loop, so that requests that arrived together are committed together.
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#inFlight === 0 && this.#waiting.length > 0) void this.#commitNext();
    });
  }

  async #commitNext(): Promise<void> {
    const batch = this.#waiting.splice(0, batchLength(this.#waiting));
    for (const job of batch) this.#waitingCharacters -= job.size;
    this.#inFlight += 1;
    const startedAt = performance.now();
    const settle = await this.#attempt(batch);
    this.#onBatch?.(batch.length, performance.now() - startedAt);
    this.#inFlight -= 1;
    // The next batch is sent before the callers of this one continue.
    if (this.#waiting.length > 0) void this.#commitNext();
    else this.#stopWatchdog();
    settle();
  }

  /** Returns a function that settles the jobs. */
  async #attempt(batch: readonly Job[]): Promise<() => void> {
    const deadlineAt = (batch[0]?.since ?? 0) + this.#deadlines.wholeMs;
    try {
      const results = await this.#commit(batch, deadlineAt);
      return () => settleAll(batch, results);
    } catch (error) {
      // An error of one row must not fail the others: each is retried alone.
      if (batch.length > 1 && !(error instanceof StoreUnavailable)) {
        const settles: (() => void)[] = [];
        for (const job of batch) settles.push(await this.#attempt([job]));
        return () => {
          for (const settle of settles) settle();
        };
      }
      return () => {
        for (const job of batch) job.reject(error);
      };
    }
  }

  #stopWatchdog(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = undefined;
  }

  /** Jobs are in the order of their arrival. */
  #expire(): void {
    const now = performance.now();
    const { waitingMs } = this.#deadlines;
    const firstInTime = this.#waiting.findIndex(({ since }) => now - since < waitingMs);
    const late = this.#waiting.splice(0, firstInTime === -1 ? this.#waiting.length : firstInTime);
    for (const job of late) {
      this.#waitingCharacters -= job.size;
      job.reject(new StoreUnavailable(`the write was not started within ${waitingMs} ms`));
    }
    const [oldest] = this.#waiting;
    this.#watchdog = oldest && setTimeout(() => this.#expire(), oldest.since + waitingMs - now + 1);
  }
}

function batchLength(jobs: readonly Job[]): number {
  let characters = 0;
  for (const [index, { size }] of jobs.entries()) {
    characters += size;
    // The first job is always included, regardless of its size.
    if (index === maxBatch || (characters > maxBatchCharacters && index > 0)) return index;
  }
  return jobs.length;
}

function settleAll(batch: readonly Job[], results: readonly Result[]): void {
  for (const [index, job] of batch.entries()) {
    const result = results[index];
    if (result === undefined) job.reject(new Error('the database returned no result for a row'));
    else if (result === 'orphan') job.reject(new EncryptionKeyMissing('the owner was deleted'));
    else job.resolve(result);
  }
}
