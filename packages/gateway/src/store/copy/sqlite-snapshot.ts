// A snapshot of a SQLite store, read while a server is writing.
import { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../core/problem.ts';
import { fileExists } from '../files/data-directory.ts';
import { appliedMigrations } from '../sqlite/apply-migrations.ts';
import { SqliteRows } from './sqlite-rows.ts';
import type { Snapshot } from './transfer.ts';
import { describeTables } from './transfer-tables.ts';

export function openSqliteSnapshot(file: string): Snapshot {
  if (!fileExists(file)) {
    throw new Problem(`There is no database ${file}. Run this where the server runs, or set TOCSIN_DATA_DIR.`);
  }
  const db = new DatabaseSync(file, { timeout: 5000 });
  try {
    // With a write-ahead log a transaction reads a snapshot, and does not block writers.
    db.exec('PRAGMA query_only = ON; BEGIN');
    const applied = appliedMigrations(db);
    const rows = new SqliteRows(db);
    return {
      applied,
      describeTables: async () => describeTables(db),
      pages: (table) => rows.pages(table),
      generation: () => rows.generation(),
      close: async () => db.close(),
    };
  } catch (error) {
    db.close();
    throw new Problem(`The database ${file} cannot be read: ${(error as Error).message}`);
  }
}
