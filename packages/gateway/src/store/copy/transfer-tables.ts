// The tables and columns to copy, read from the schema that the migrations create, so that new tables and columns are
// copied without further code.
import { DatabaseSync } from 'node:sqlite';
import { migrations } from '../schema/migrations.ts';
import { applyMigrations } from '../sqlite/apply-migrations.ts';
import { build } from '../sqlite/database.ts';

export type Value = string | number | Uint8Array | null;
/** Values in the order of the table's columns. */
export type Row = readonly Value[];

export type ColumnKind = 'text' | 'integer' | 'bytes';

export interface Table {
  name: string;
  /** The columns of the primary key, in its order; they are the first columns of a row. */
  key: Column[];
  /** The key first, the others by name, so that a digest does not depend on the order in which they were added. */
  columns: Column[];
  /** There is another unique index, so rows must be deleted before others are inserted. */
  hasUniqueIndex: boolean;
}

export interface Column {
  name: string;
  kind: ColumnKind;
}

/** `changes` is incremented in the target instead; `schema_migrations` is written by the migrations. */
export const notCopied: readonly string[] = ['changes', 'schema_migrations'];

const kinds: Record<string, ColumnKind> = {
  text: 'text',
  integer: 'integer',
  bigint: 'integer',
  blob: 'bytes',
  bytea: 'bytes',
};

/** The names of all migrations of this version, oldest first. */
export const knownMigrations: readonly string[] = migrations(build, 'sqlite').map(({ name }) => name);

/** The tables after these migrations. */
export function transferTables(applied: readonly string[] = knownMigrations): Table[] {
  const db = new DatabaseSync(':memory:');
  try {
    createSchema(db, applied);
    return describeTables(db);
  } finally {
    db.close();
  }
}

/** The tables of a SQLite database. */
export function describeTables(db: DatabaseSync): Table[] {
  return db
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )
    .all()
    .map((row) => String(row.name))
    .filter((name) => !notCopied.includes(name))
    .map((name) => describe(db, name));
}

/** Applies those of the given migrations that are not applied yet. */
export function createSchema(db: DatabaseSync, steps: readonly string[] = knownMigrations): void {
  applyMigrations(
    db,
    migrations(build, 'sqlite').filter(({ name }) => steps.includes(name)),
  );
}

function describe(db: DatabaseSync, name: string): Table {
  const info = db.prepare('SELECT name, type, pk FROM pragma_table_info(?) ORDER BY name').all(name);
  const described = info.map((column) => ({
    name: String(column.name),
    kind: kindOf(`${name}.${column.name}`, String(column.type)),
    keyPosition: Number(column.pk),
  }));
  const { key, columns } = keyFirst(name, described);
  const indexes = db.prepare(`SELECT 1 FROM pragma_index_list(?) WHERE "unique" = 1 AND origin <> 'pk'`).all(name);
  return { name, key, columns, hasUniqueIndex: indexes.length > 0 };
}

/** `described` is sorted by name; a key position of 0 is not part of the key. */
export function keyFirst(
  table: string,
  described: readonly (Column & { keyPosition: number })[],
): Pick<Table, 'key' | 'columns'> {
  const key = described.filter(({ keyPosition }) => keyPosition > 0).sort((a, b) => a.keyPosition - b.keyPosition);
  if (key.length === 0) throw new Error(`The table ${table} has no primary key.`);
  return { key, columns: [...key, ...described.filter(({ keyPosition }) => keyPosition === 0)] };
}

export function kindOf(column: string, declared: string): ColumnKind {
  const kind = kinds[declared.toLowerCase()];
  if (kind === undefined) throw new Error(`${column} has the type ${declared}, which cannot be copied.`);
  return kind;
}
