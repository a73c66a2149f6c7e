// What the main thread and a database thread say to each other.
import type { KeyObject } from 'node:crypto';
import type { PlainNotification, QueryResult } from '../schema/database.ts';

export interface Statement {
  sql: string;
  parameters: readonly unknown[];
}

export interface ThreadOptions {
  file: string;
  role: 'reader' | 'writer';
}

/** A row to seal and insert; `key` names one of the keys that came with the batch. */
export interface RowToAppend extends PlainNotification {
  keyName: string;
}

export type Request =
  | { kind: 'read'; statement: Statement }
  | {
      kind: 'commit';
      /** How long to wait for another process that holds the database. */
      waitMs: number;
      rows: RowToAppend[];
      keys: Map<string, { version: number; key: KeyObject }>;
      jobs: Statement[][];
    }
  | { kind: 'migrate'; migrations: { name: string; statements: Statement[] }[] }
  | { kind: 'verify' }
  | { kind: 'wipe' }
  | { kind: 'close' };

/** Why a request failed. `unavailable`: it may work later; `conflict`: a constraint; `fault`: ours. */
export interface Failure {
  failure: 'unavailable' | 'conflict' | 'fault';
  message: string;
  /** Primary result code of SQLite, where it got that far. */
  code?: number;
}

export interface CommitReply {
  /** Which of the rows were not inserted, because their owner is gone. */
  refusedRows: number[];
  /** Which were not, because their idempotency key is taken. */
  duplicateRows: number[];
  jobs: (QueryResult<unknown>[] | Failure)[];
}

export interface Replies {
  read: QueryResult<unknown>;
  commit: CommitReply;
  migrate: null;
  verify: string[];
  /** False while a reader elsewhere still needs the log. */
  wipe: boolean;
  close: null;
}

export type Envelope<T> = { id: number } & T;
export type Reply = { value: unknown } | Failure;

export function isFailure(value: unknown): value is Failure {
  return typeof value === 'object' && value !== null && 'failure' in value;
}
