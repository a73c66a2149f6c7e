// Messages between the main thread and a database thread.
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

/** A row to encrypt and insert; `keyName` refers to a key that this batch or an earlier one brought. */
export interface RowToAppend extends PlainNotification {
  keyName: string;
}

export interface NamedKey {
  name: string;
  version: number;
  key: KeyObject;
}

export type Request =
  | { kind: 'read'; statement: Statement }
  | {
      kind: 'commit';
      /** How long to wait for the lock of another process. */
      waitMs: number;
      rows: RowToAppend[];
      /** Keys that the thread does not have yet: handing one over costs more than encrypting a row. */
      keys: readonly NamedKey[];
      /** The thread forgets all other keys. */
      isNewKeySet: boolean;
      jobs: Statement[][];
    }
  | { kind: 'migrate'; migrations: { name: string; statements: Statement[] }[] }
  | { kind: 'verify' }
  | { kind: 'truncateLog' }
  | { kind: 'close' };

/** Why a request failed. `unavailable`: may succeed later; `conflict`: a constraint was violated; `fault`: a bug. */
export interface Failure {
  failure: 'unavailable' | 'conflict' | 'fault';
  message: string;
  /** Primary result code of SQLite, if there is one. */
  code?: number;
}

export interface CommitReply {
  /** Indexes of rows that were not inserted because their owner was deleted. */
  refusedRows: number[];
  /** Indexes of rows that were not inserted because their idempotency key is in use. */
  duplicateRows: number[];
  /** Rows whose messages could not all be queued, with the indexes of those messages. */
  notQueued: { row: number; messages: number[] }[];
  jobs: (QueryResult<unknown>[] | Failure)[];
}

export interface Replies {
  read: QueryResult<unknown>;
  commit: CommitReply;
  migrate: null;
  verify: string[];
  /** False while another reader still needs the log. */
  truncateLog: boolean;
  close: null;
}

export type Envelope<T> = { id: number } & T;
export type Reply = { value: unknown } | Failure;

export function isFailure(value: unknown): value is Failure {
  return typeof value === 'object' && value !== null && 'failure' in value;
}
