// Backups of a store whose schema was extended by a newer version: tables and columns that this version does not know are
// read from the store itself. The newer version can restore them.
import type { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../core/problem.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { refuseUnreadable, type SchemaFact } from '../schema/schema-version.ts';
import { quote } from './quoted-names.ts';
import type { Snapshot } from './transfer.ts';
import { type ColumnKind, createSchema, knownMigrations, type Table } from './transfer-tables.ts';

const declaredAs: Record<ColumnKind, string> = { text: 'text', integer: 'bigint', bytes: 'blob' };

export function isNewer(applied: readonly string[]): boolean {
  return applied.some((name) => !knownMigrations.includes(name));
}

/** Creates the schema of the source in an empty file; returns its tables. */
export async function createNewerSchema(db: DatabaseSync, source: Snapshot): Promise<Table[]> {
  const tables = await describe(source);
  refuseUnreadable(await schemaFactOf(source, tables), knownMigrations, 'The store');
  createSchema(db, source.applied);
  const columnsOf = db.prepare('SELECT name FROM pragma_table_info(?)');
  for (const { name, key, columns } of tables) {
    const present = columnsOf.all(name).map((row) => String(row.name));
    const declare = (column: Table['columns'][number]): string => `${quote(column.name)} ${declaredAs[column.kind]}`;
    if (present.length === 0) {
      const primaryKey = key.map((column) => quote(column.name)).join(', ');
      db.exec(`CREATE TABLE ${quote(name)} (${columns.map(declare).join(', ')}, PRIMARY KEY (${primaryKey}))`);
      continue;
    }
    for (const column of columns.filter((each) => !present.includes(each.name))) {
      db.exec(`ALTER TABLE ${quote(name)} ADD COLUMN ${declare(column)}`);
    }
  }
  const insert = db.prepare('INSERT OR IGNORE INTO schema_migrations (name, applied_at) VALUES (?, ?)');
  for (const step of source.applied) insert.run(step, Date.now());
  return tables;
}

async function describe(source: Snapshot): Promise<Table[]> {
  try {
    return await source.describeTables();
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    throw new Problem(
      `A newer version of Tocsin has extended the store, and this version cannot copy all of it: ` +
        `${(error as Error).message} Make the backup with the newer version.`,
    );
  }
}

async function schemaFactOf(source: Snapshot, tables: readonly Table[]): Promise<SchemaFact | null> {
  let fact: SchemaFact | null = null;
  for (const table of tables.filter(({ name }) => name === 'meta')) {
    // To the end, since a source reads one table at a time.
    for await (const page of source.pages(table)) {
      const value = page.find(([name]) => name === 'schema')?.[1];
      if (value instanceof Uint8Array) fact = JSON.parse(Buffer.from(value).toString()) as SchemaFact;
    }
  }
  return fact;
}
