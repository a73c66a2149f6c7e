// Group commit: collects writes while the previous batch is being committed, so that one fsync serves many requests.
import { EncryptionKeyMissing, StoreUnavailable } from '../../usecases/ports/index.ts';
import { busyTimeoutMs } from '../files/sqlite-result-codes.ts';
import type { Appended, EncryptionKey, OnBatch, PlainNotification, QueryResult } from '../schema/database.ts';
import { type CommitReply, isFailure, type Request, type RowToAppend, type Statement } from './protocol.ts';
import { SentKeys } from './sent-keys.ts';
import { type ThreadClient, toError } from './thread-client.ts';

const maxBatch = 1024;
/** A batch of this size is sent without waiting for more, so that disk and event loop work in parallel. */
const eagerBatch = 16;
const maxInFlight = 3;
/** Content queued in memory for a disk that hangs; beyond it requests fail at once. */
const maxWaitingCharacters = 256 * 1024 * 1024;
/** Limits the size of a batch, so that requests behind it are not delayed. */
const maxBatchCharacters = 8 * 1024 * 1024;

interface RowToCommit {
  row: RowToAppend;
  key: EncryptionKey;
  statements: null;
  resolve(appended: Appended): void;
}

interface StatementsToCommit {
  row: null;
  statements: Statement[];
  resolve(results: QueryResult<unknown>[]): void;
}

type Job = (RowToCommit | StatementsToCommit) & {
  since: number;
  size: number;
  reject(error: Error): void;
};

export class CommitQueue {
  readonly #thread: ThreadClient;
  readonly #deadlineMs: number;
  readonly #onBatch: OnBatch | undefined;
  #waiting: Job[] = [];
  #waitingCharacters = 0;
  readonly #committing = new Set<Job>();
  readonly #sentKeys = new SentKeys(() => performance.now());
  #inFlight = 0;
  #isScheduled = false;
  #watchdog: NodeJS.Timeout | undefined;

  /** No caller waits longer than the deadline, regardless of the disk. */
  constructor(thread: ThreadClient, deadlineMs: number, onBatch?: OnBatch) {
    this.#thread = thread;
    this.#deadlineMs = deadlineMs;
    this.#onBatch = onBatch;
  }

  append(notification: PlainNotification, key: EncryptionKey): Promise<Appended> {
    const row: RowToAppend = { ...notification, keyName: `${notification.ownerId}/${key.version}` };
    const size = notification.content.length + (notification.original?.length ?? 0);
    return new Promise((resolve, reject) => {
      this.#add({ since: performance.now(), size, row, key, statements: null, resolve, reject });
    });
  }

  write(statements: Statement[]): Promise<QueryResult<unknown>[]> {
    return new Promise((resolve, reject) => {
      this.#add({ since: performance.now(), size: 0, row: null, statements, resolve, reject });
    });
  }

  #add(job: Job): void {
    if (this.#waitingCharacters + job.size > maxWaitingCharacters) {
      job.reject(new StoreUnavailable('too many writes are queued'));
      return;
    }
    this.#waiting.push(job);
    this.#waitingCharacters += job.size;
    this.#watchdog ??= setTimeout(() => this.#expire(), this.#deadlineMs);
    if (this.#waiting.length >= eagerBatch && this.#inFlight < maxInFlight) void this.#commit();
    else this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight > 0 || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    // After this turn of the event loop, so that requests that arrived together are committed together.
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#inFlight === 0 && this.#waiting.length > 0) void this.#commit();
    });
  }

  async #commit(): Promise<void> {
    const batch = this.#waiting.splice(0, batchLength(this.#waiting));
    for (const job of batch) {
      this.#committing.add(job);
      this.#waitingCharacters -= job.size;
    }
    this.#inFlight += 1;
    const since = performance.now();
    let settle: () => void;
    try {
      const reply = await this.#thread.ask(this.#toRequest(batch));
      settle = () => settleAll(batch, reply);
    } catch (error) {
      settle = () => rejectAll(batch, error as Error);
    }
    for (const job of batch) this.#committing.delete(job);
    this.#inFlight -= 1;
    // The next batch is sent before the callers of this one continue.
    if (this.#waiting.length > 0) void this.#commit();
    else if (this.#inFlight === 0) this.#stopWatchdog();
    settle();
    this.#onBatch?.(batch.length, performance.now() - since);
  }

  #toRequest(batch: readonly Job[]): Request & { kind: 'commit' } {
    const rows: RowToAppend[] = [];
    const keys = new Map<string, EncryptionKey>();
    const jobs: Statement[][] = [];
    for (const job of batch) {
      if (job.row === null) {
        jobs.push(job.statements);
      } else {
        rows.push(job.row);
        keys.set(job.row.keyName, job.key);
      }
    }
    const toSend = this.#sentKeys.toSend(this.#thread.start(), keys);
    return { kind: 'commit', waitMs: waitFor(batch), rows, jobs, ...toSend };
  }

  #stopWatchdog(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = undefined;
  }

  /** Batches in flight may still be committed; their callers get StoreUnavailable (unknown outcome). */
  #expire(): void {
    const now = performance.now();
    const isLate = (job: Job): boolean => now - job.since >= this.#deadlineMs;
    const error = new StoreUnavailable(`the database did not answer within ${this.#deadlineMs} ms`);
    const late = [...this.#committing, ...this.#waiting].filter(isLate);
    this.#waitingCharacters -= this.#waiting.filter(isLate).reduce((sum, job) => sum + job.size, 0);
    this.#waiting = this.#waiting.filter((job) => !isLate(job));
    rejectAll(late, error);
    // Jobs are in the order of their arrival; those being committed are the oldest.
    const oldest = [...this.#committing].find((job) => !isLate(job)) ?? this.#waiting[0];
    this.#watchdog = oldest && setTimeout(() => this.#expire(), oldest.since + this.#deadlineMs - now + 1);
  }
}

function batchLength(jobs: readonly Job[]): number {
  let characters = 0;
  for (let index = 0; index < Math.min(jobs.length, maxBatch); index += 1) {
    characters += (jobs[index] as Job).size;
    // The first job is always included, regardless of its size.
    if (characters > maxBatchCharacters && index > 0) return index;
  }
  return Math.min(jobs.length, maxBatch);
}

function settleAll(batch: readonly Job[], reply: CommitReply): void {
  const results = reply.jobs.values();
  let rowIndex = -1;
  for (const job of batch) {
    if (job.row !== null) {
      rowIndex += 1;
      settleRow(job, rowIndex, reply);
      continue;
    }
    const result = results.next().value;
    if (result === undefined) job.reject(new Error('the database thread returned no result for a job'));
    else if (isFailure(result)) job.reject(toError(result));
    else job.resolve(result);
  }
}

function settleRow({ resolve, reject }: RowToCommit & Pick<Job, 'reject'>, index: number, reply: CommitReply): void {
  const partly = reply.notQueued.find(({ row }) => row === index);
  if (reply.refusedRows.includes(index)) reject(new EncryptionKeyMissing('the owner was deleted'));
  else if (reply.duplicateRows.includes(index)) resolve('duplicate');
  else resolve(partly === undefined ? 'appended' : { notQueued: partly.messages });
}

function rejectAll(jobs: readonly Job[], error: Error): void {
  for (const job of jobs) job.reject(error);
}

/** A batch that has already waited for a locked database waits only for the rest of the time. */
function waitFor(batch: readonly Job[]): number {
  const age = performance.now() - (batch[0]?.since ?? 0);
  return age < busyTimeoutMs / 4 ? busyTimeoutMs : Math.max(1, Math.round(busyTimeoutMs - age));
}
