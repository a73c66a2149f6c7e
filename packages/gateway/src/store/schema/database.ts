// What a backend gives the store: somewhere to run queries that Kysely built, and a fast lane for notifications.
import type { KeyObject } from 'node:crypto';
import type { CompiledQuery, Kysely } from 'kysely';
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
  /** Whom to tell, as the column `dispatches.targets` holds it; null: nobody. */
  dispatch: string | null;
  /** Until when whoever appends this answers for what is to follow: the dispatch and the first answer. */
  leaseUntil: number;
  idempotency: { keyDigest: string; fingerprint: string; expiresAt: number } | null;
}

/** `duplicate`: the idempotency key is taken and has not expired; nothing was stored. */
export type Appended = 'appended' | 'duplicate';

/** Told of every batch that was committed or refused: how many writes it held, and how long it took. */
export type OnBatch = (size: number, ms: number) => void;

/** A write broke a constraint of the schema; nothing of it was done. */
export class ConstraintViolated extends Error {
  override readonly name = 'ConstraintViolated';
}

export interface Migration {
  name: string;
  /** Versions that do not know this step must not use a database that has it. */
  isBreaking?: true;
  statements: CompiledQuery[];
}

/** Every method rejects with StoreUnavailable when the database cannot do it now. */
export interface Database {
  readonly dialect: Dialect;
  /** What to call it in messages: a file, or server and database. Never with a password. */
  readonly name: string;
  /** Builds queries for this backend; it cannot run them. */
  readonly build: Kysely<Tables>;
  read<Row>(query: CompiledQuery<Row>): Promise<Row[]>;
  /** All or none, in one transaction; resolves once it is durable. */
  write(queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]>;
  /**
   * Seals and inserts, with its dispatch and its idempotency key; many calls share one transaction. Resolves once it is
   * durable. Rejects with EncryptionKeyMissing where the owner was deleted.
   */
  append(notification: PlainNotification, key: EncryptionKey): Promise<Appended>;
  /** Calls back soon after another process moved the generation, where the backend can tell. */
  onChange(listener: () => void): void;
  /** Tells whether another node on this database runs an embedded broker, from now on; absent where there is but one node. */
  claimBroker?(onShared: (isShared: boolean) => void): void;
  /** Why it cannot be used, as far as can be told from here, and what to do. */
  explain(error: StoreUnavailable): { advice: string; isFull: boolean };
  /** Applies those that are not applied yet, in order. */
  migrate(migrations: readonly Migration[]): Promise<void>;
  /** Problems of the database file itself; empty when it is sound. */
  verify(): Promise<string[]>;
  /** Problems that can be found while others read and write; empty when there are none. */
  examine(signal: AbortSignal): Promise<string[]>;
  /** Empties the write-ahead log into the database, unless a reader needs it; absent where it is not ours. */
  checkpoint?(): Promise<void>;
  /** Takes what was deleted or replaced out of the files too; absent where they are not ours. */
  wipe?(): Promise<void>;
  close(): Promise<void>;
}
