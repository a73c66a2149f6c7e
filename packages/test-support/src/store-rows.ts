// Reads all rows directly from the database, as text, to compare two stores.
import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import type { Postgres } from './postgres.ts';

/** Tables that differ between a store and its copy: the generation, and the history of the schema and of copies. */
const localTables = ['changes', 'schema_migrations', 'tocsin_backup'];

export type StoreRows = Record<string, string[]>;

export function rowsOfFile(file: string): StoreRows {
  const db = new DatabaseSync(file);
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").all();
    return Object.fromEntries(
      tables
        .map(({ name }) => String(name))
        .filter((name) => !localTables.includes(name))
        .map((name) => [name, toLines(db.prepare(`SELECT * FROM "${name}"`).all())]),
    );
  } finally {
    db.close();
  }
}

export async function rowsOfDatabase(server: Postgres, url: string): Promise<StoreRows> {
  const tables = await server.query<{ name: string }>(
    url,
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  const entries = tables
    .filter(({ name }) => !localTables.includes(name))
    .map(async ({ name }) => [name, toLines(await server.query(url, `SELECT * FROM "${name}"`))] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Adds notifications with random content, so that a copy takes a while. */
export function addRows(file: string, count: number): void {
  const db = new DatabaseSync(file, { timeout: 5000 });
  const insert = db.prepare('INSERT INTO notifications (owner_id, id, created_at, sealed) VALUES (?, ?, 0, ?)');
  db.exec('BEGIN');
  for (let index = 0; index < count; index += 1) {
    insert.run('own_many', String(index).padStart(10, '0'), randomBytes(300));
  }
  db.exec('COMMIT');
  db.close();
}

/** Leaves out the marker of a copy, which is not copied. */
function toLines(rows: object[]): string[] {
  return rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .map(([name, value]): [string, unknown] => [name, value instanceof Uint8Array ? toHex(value) : toText(value)])
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      ),
    )
    .filter((line) => !line.startsWith('[["name","copy"]'))
    .sort();
}

function toHex(value: Uint8Array): string {
  return Buffer.from(value).toString('hex');
}

/** The PostgreSQL driver returns large numbers as text. */
function toText(value: unknown): string | null {
  return value === null ? null : String(value);
}
