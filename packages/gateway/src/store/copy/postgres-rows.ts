// Rows of a PostgreSQL store, for copying: read through cursors, so that only one page is in memory.
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig, type QueryArrayConfig } from 'pg';
import { Problem } from '../../core/problem.ts';
import { clientConfig, numberTypes } from '../postgres/connections.ts';
import { toStoreError } from '../postgres/errors.ts';
import { examineServer } from '../postgres/open.ts';
import { names, quote } from './quoted-names.ts';
import { type Changes, firstPageRows, nextPageRows, type RowTarget, type Snapshot } from './transfer.ts';
import {
  type Column,
  type ColumnKind,
  keyFirst,
  kindOf,
  notCopied,
  type Row,
  type Table,
  type Value,
} from './transfer-tables.ts';

/** Distinguishes copies from servers. */
const applicationName = 'tocsin-copy';
/** An advisory lock, other than that of migrations: one process at a time copies into a database. */
const lockNumber = '128021977917807';

const stoppedNodesMs = 2000;

const arrayOf: Record<ColumnKind, string> = { text: 'text[]', integer: 'bigint[]', bytes: 'bytea[]' };

/** Reads a snapshot. */
const beginReading = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

export async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  const client = await connect(url, 'read');
  try {
    await ask(client, beginReading);
    const rows = await ask<{ name: string }>(client, 'SELECT name FROM schema_migrations ORDER BY name');
    return {
      applied: rows.map(({ name }) => name),
      describeTables: () => describeTables(client),
      pages: (table) => readPages(client, table),
      generation: () => readGeneration(client),
      close: () => client.end(),
    };
  } catch (error) {
    await client.end();
    throw error;
  }
}

interface DescribedColumn {
  table: string;
  name: string;
  type: string;
  keyPosition: number;
}

async function describeTables(client: Client): Promise<Table[]> {
  const columns = await ask<DescribedColumn>(
    client,
    `SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, NULL) AS type,
       coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0) AS "keyPosition"
     FROM pg_class c
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
     WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
     ORDER BY c.relname COLLATE "C", a.attname COLLATE "C"`,
  );
  const ofTables = Map.groupBy(columns, ({ table }) => table);
  return [...ofTables]
    .filter(([name]) => !notCopied.includes(name))
    .map(([name, described]) => {
      const typed = described.map(({ type, ...column }) => ({
        ...column,
        kind: kindOf(`${name}.${column.name}`, type),
      }));
      return { name, ...keyFirst(name, typed), hasUniqueIndex: false };
    });
}

/** The target of a copy. Opening it fails while servers use the database, since they would keep writing. */
export class PostgresRows implements RowTarget {
  readonly #reader: Client;
  readonly #writer: Client;

  private constructor(reader: Client, writer: Client) {
    this.#reader = reader;
    this.#writer = writer;
  }

  static async open(url: string): Promise<PostgresRows> {
    const writer = await connect(url, 'create');
    try {
      await assertNoRunningNodes(writer);
      // The rows are durable with the last commit of the copy, a synchronous commit of another connection.
      await ask(writer, 'SET synchronous_commit = off');
      return new PostgresRows(await connect(url, 'create'), writer);
    } catch (error) {
      await writer.end();
      throw error;
    }
  }

  async *pages(table: Table): AsyncGenerator<Row[]> {
    await ask(this.#reader, beginReading);
    try {
      yield* readPages(this.#reader, table);
    } finally {
      await ask(this.#reader, 'ROLLBACK');
    }
  }

  generation(): Promise<number> {
    return readGeneration(this.#reader);
  }

  async apply(table: Table, { upserts, deletes }: Changes): Promise<void> {
    await ask(this.#writer, 'BEGIN');
    if (deletes.length > 0) await ask(this.#writer, deleteFrom(table), toArrays(table.key, deletes));
    if (upserts.length > 0) await ask(this.#writer, upsertInto(table), toArrays(table.columns, upserts));
    await ask(this.#writer, 'COMMIT');
  }

  async setGeneration(value: number): Promise<void> {
    await ask(this.#writer, 'UPDATE changes SET generation = $1', [value]);
  }

  /** Updates the statistics of the query planner after many inserts. */
  async analyze(tables: readonly Table[]): Promise<void> {
    for (const { name } of tables) await ask(this.#writer, `ANALYZE ${quote(name)}`);
  }

  async close(): Promise<void> {
    await Promise.all([this.#reader.end(), this.#writer.end()]);
  }
}

/** Converts errors of the server and the connection to those of the store. */
async function ask<R>(client: Client, query: string | QueryArrayConfig, values: unknown[] = []): Promise<R[]> {
  try {
    // Without values it may be several statements.
    const text = typeof query === 'string' && values.length === 0;
    const { rows } = text ? await client.query(query) : await client.query(query as string, values);
    return rows as R[];
  } catch (error) {
    throw toStoreError(error);
  }
}

async function connect(url: string, mode: 'create' | 'read'): Promise<Client> {
  const config: ClientConfig = { ...clientConfig(url), application_name: applicationName };
  await examineServer(config, mode);
  const client = new Client(config);
  // The error is also reported by the query; an error event without a listener would end the process.
  client.on('error', () => undefined);
  for (const type of numberTypes) client.setTypeParser(type, Number);
  await client.connect();
  await ask(client, 'SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0');
  return client;
}

async function assertNoRunningNodes(client: Client): Promise<void> {
  const locks = await ask<{ mine: boolean }>(client, `SELECT pg_try_advisory_lock(${lockNumber}) AS mine`);
  if (locks[0]?.mine !== true) throw new Problem('Another process is copying into this database.');
  // A node that has just stopped may still be listed.
  const deadline = performance.now() + stoppedNodesMs;
  while ((await countNodes(client)) > 0) {
    if (performance.now() > deadline) {
      throw new Problem('Tocsin nodes are using this PostgreSQL database. Stop all of them first.');
    }
    await delay(100);
  }
}

async function countNodes(client: Client): Promise<number> {
  const rows = await ask<{ count: number }>(
    client,
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tocsin'`,
  );
  return rows[0]?.count ?? 0;
}

async function* readPages(client: Client, table: Table): AsyncGenerator<Row[]> {
  await ask(
    client,
    `DECLARE page NO SCROLL CURSOR FOR SELECT ${names(table.columns)} FROM ${quote(table.name)} ORDER BY ${names(table.key)}`,
  );
  let fetching = fetchPage(client, firstPageRows);
  for (;;) {
    const rows = await fetching;
    if (rows.length === 0) break;
    // Prefetches the next page while this one is processed.
    fetching = fetchPage(client, nextPageRows(rows));
    fetching.catch(() => undefined);
    yield rows;
  }
  await ask(client, 'CLOSE page');
}

function fetchPage(client: Client, count: number): Promise<Value[][]> {
  return ask(client, { text: `FETCH ${count} FROM page`, rowMode: 'array' });
}

async function readGeneration(client: Client): Promise<number> {
  const rows = await ask<{ generation: number }>(client, 'SELECT generation FROM changes');
  return rows[0]?.generation ?? 0;
}

function deleteFrom(table: Table): string {
  const isSame = table.key.map(({ name }) => `target.${quote(name)} = gone.${quote(name)}`);
  return `DELETE FROM ${quote(table.name)} AS target USING ${unnest(table.key)} AS gone (${names(table.key)})
    WHERE ${isSame.join(' AND ')}`;
}

function upsertInto(table: Table): string {
  const set = table.columns.map(({ name }) => `${quote(name)} = excluded.${quote(name)}`);
  return `INSERT INTO ${quote(table.name)} (${names(table.columns)}) SELECT * FROM ${unnest(table.columns)}
    ON CONFLICT (${names(table.key)}) DO UPDATE SET ${set.join(', ')}`;
}

function unnest(columns: readonly Column[]): string {
  return `unnest(${columns.map(({ kind }, index) => `$${index + 1}::${arrayOf[kind]}`).join(', ')})`;
}

function toArrays(columns: readonly Column[], rows: readonly Row[]): unknown[][] {
  return columns.map((_, index) => rows.map((row) => row[index]));
}
