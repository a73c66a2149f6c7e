// The interface of a backend: runs queries built by Kysely, and has a fast path for notifications.
import type { KeyObject } from 'node:crypto';
import type { CompiledQuery, Kysely } from 'kysely';
import type { QueuedMessage } from '../../core/reservation.ts';
import type { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { Tables } from './tables.ts';

export interface EncryptionKey {
  version: number;
  key: KeyObject;
}

export type Dialect = 'sqlite' | 'postgres';

export interface QueryResult<Row> {
  rows: Row[];
  changes: number;
}

export interface PlainNotification {
  ownerId: string;
  id: string;
  createdAt: number;
  content: string;
  /** For the table `originals`; null: nothing. */
  original: string | null;
  /** The targets as JSON for the column `dispatches.targets`; null: none. */
  dispatch: string | null;
  /** Until when this process is responsible for the dispatch and the response. */
  leaseUntil: number;
  idempotency: { keyDigest: string; fingerprint: string; expiresAt: number } | null;
  /** For queues of the embedded broker. */
  messages: readonly QueuedMessage[];
  /** The results in JSON with which the dispatch is settled if all messages are queued; null: it is not. */
  resultsIfQueued: string | null;
}

/**
 * `appended`: with all its messages. `duplicate`: the idempotency key is in use and has not expired; nothing was stored.
 * Otherwise the indexes of messages whose session or device does not exist.
 */
export type Appended = 'appended' | 'duplicate' | { notQueued: readonly number[] };

/** Called for every batch that was committed or failed, with the number of writes and the duration. */
export type OnBatch = (size: number, ms: number) => void;

/** A write violated a constraint of the schema; nothing was written. */
export class ConstraintViolated extends Error {
  override readonly name = 'ConstraintViolated';
}

export interface Migration {
  name: string;
  /** Versions that do not know this migration must not use the database. */
  isBreaking?: true;
  statements: CompiledQuery[];
}

/** Every method rejects with StoreUnavailable if the operation may succeed later. */
export interface Database {
  readonly dialect: Dialect;
  /** The database in messages: a file, or server and database, without a password. */
  readonly name: string;
  /** Builds queries for this backend; it cannot run them. */
  readonly build: Kysely<Tables>;
  read<Row>(query: CompiledQuery<Row>): Promise<Row[]>;
  /** Runs the queries in one transaction; resolves once it is durable. */
  write(queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]>;
  /**
   * Encrypts and inserts a notification with its dispatch and idempotency key; many calls share one transaction. Resolves
   * once it is durable. Rejects with EncryptionKeyMissing if the owner was deleted.
   */
  append(notification: PlainNotification, key: EncryptionKey): Promise<Appended>;
  /** Calls back soon after another process changed the generation, on backends that support it. */
  onChange(listener: () => void): void;
  /** Reports whether another node on this database runs an embedded broker; absent if the backend has only one node. */
  claimBroker?(onShared: (isShared: boolean) => void): void;
  /** The probable cause of an error, and what to do. */
  explain(error: StoreUnavailable): { advice: string; isFull: boolean };
  /** Applies pending migrations in order. */
  migrate(migrations: readonly Migration[]): Promise<void>;
  /** Problems of the database itself; empty if there are none. */
  verify(): Promise<string[]>;
  /** Problems that can be found while the database is in use; empty if there are none. */
  examine(signal: AbortSignal): Promise<string[]>;
  /** Checkpoints the write-ahead log, unless a reader needs it; absent on PostgreSQL. */
  checkpoint?(): Promise<void>;
  /** Checkpoints and truncates the write-ahead log, which still contains deleted values; absent on PostgreSQL. */
  truncateLog?(): Promise<void>;
  close(): Promise<void>;
}
