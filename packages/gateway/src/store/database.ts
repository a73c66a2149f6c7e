// What a backend gives the store: somewhere to run queries that Kysely built, and a fast lane for notifications.
import type { CompiledQuery, Kysely } from 'kysely';
import type { SealingKey } from './cipher.ts';
import type { Tables } from './tables.ts';

export interface QueryResult<Row> {
  rows: Row[];
  changes: number;
}

export interface PlainNotification {
  ownerId: string;
  id: string;
  createdAt: number;
  content: string;
}

export interface Migration {
  name: string;
  statements: CompiledQuery[];
}

/** Every method rejects with StoreUnavailable when the database cannot do it now. */
export interface Database {
  /** Builds queries for this backend; it cannot run them. */
  readonly build: Kysely<Tables>;
  read<Row>(query: CompiledQuery<Row>): Promise<Row[]>;
  /** All or none, in one transaction; resolves once it is durable. */
  write(queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]>;
  /** Seals and inserts; many calls share one transaction. Resolves once it is durable. */
  append(notification: PlainNotification, key: SealingKey): Promise<void>;
  /** Applies those that are not applied yet, in order. */
  migrate(migrations: readonly Migration[]): Promise<void>;
  /** Problems of the database file itself; empty when it is sound. */
  verify(): Promise<string[]>;
  close(): Promise<void>;
}
