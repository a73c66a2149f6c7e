// Applies migrations to a SQLite file, within the transaction of the caller.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Statement } from './protocol.ts';

export interface MigrationSteps {
  name: string;
  statements: readonly Statement[];
}

export function applyMigrations(db: Pick<DatabaseSync, 'exec' | 'prepare'>, steps: readonly MigrationSteps[]): void {
  db.exec('CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, applied_at integer NOT NULL)');
  const applied = new Set(appliedMigrations(db));
  for (const { name, statements } of steps) {
    if (applied.has(name)) continue;
    for (const { sql, parameters } of statements) db.prepare(sql).run(...(parameters as SQLInputValue[]));
    db.prepare('INSERT INTO schema_migrations (name, applied_at) VALUES (?, ?)').run(name, Date.now());
  }
}

export function appliedMigrations(db: Pick<DatabaseSync, 'prepare'>): string[] {
  return db
    .prepare('SELECT name FROM schema_migrations ORDER BY name')
    .all()
    .map((row) => String(row.name));
}
