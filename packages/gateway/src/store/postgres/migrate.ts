// Applies migrations, also if several nodes start at once, while older nodes are running.
import { Client, type ClientConfig } from 'pg';
import type { Migration } from '../schema/database.ts';
import { toStoreError } from './errors.ts';

/** Key of the advisory lock: "tocsin" in ASCII. */
const lockNumber = '128021977917806';
/** Another node may be applying the migrations. */
const waitForOthersMs = 60_000;
/** Short, since a migration that waits for a table lock blocks all later statements on the table. */
const waitForTableMs = 3000;

export async function migrate(config: ClientConfig, migrations: readonly Migration[]): Promise<void> {
  const client = new Client({ ...config, query_timeout: waitForOthersMs * 2 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    if ((await pending(client, migrations)).length > 0) await apply(client, migrations);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    client.connection.stream.destroy();
  }
}

async function apply(client: Client, migrations: readonly Migration[]): Promise<void> {
  await client.query('BEGIN');
  await client.query(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${waitForOthersMs}`);
  await client.query(`SELECT pg_advisory_xact_lock(${lockNumber})`);
  await client.query(`SET LOCAL lock_timeout = ${waitForTableMs}`);
  await client.query(
    'CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, applied_at bigint NOT NULL)',
  );
  for (const { name, statements } of await pending(client, migrations)) {
    for (const { sql, parameters } of statements) await client.query(sql, [...parameters]);
    await client.query('INSERT INTO schema_migrations (name, applied_at) VALUES ($1, $2)', [name, Date.now()]);
  }
  await client.query('COMMIT');
}

async function pending(client: Client, migrations: readonly Migration[]): Promise<Migration[]> {
  const { rows } = await client.query<{ exists: boolean }>(
    "SELECT to_regclass('schema_migrations') IS NOT NULL AS exists",
  );
  if (rows[0]?.exists !== true) return [...migrations];
  const applied = await client.query<{ name: string }>('SELECT name FROM schema_migrations');
  const names = new Set(applied.rows.map(({ name }) => name));
  return migrations.filter(({ name }) => !names.has(name));
}
