// Detects a data directory whose store is missing: an unmounted volume, a deleted or truncated database, an interrupted
// restore. Creating a new store there would look like the loss of all data.
import { existsSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { Problem } from '../../core/problem.ts';
import type { Database } from '../schema/database.ts';
import { busyTimeoutMs } from './sqlite-result-codes.ts';

/** The draft of a restore: while it exists the restore is not finished. */
export function unfinishedRestore(databaseFile: string): string {
  return `${databaseFile}.unfinished-restore`;
}

export function refuseUnfinishedRestore(databaseFile: string): void {
  const draft = unfinishedRestore(databaseFile);
  if (!existsSync(draft)) return;
  throw new Problem(
    `A restore into ${dirname(databaseFile)} is running or was interrupted. Wait for it, or run the same 'tocsin restore' ` +
      `again. To discard it, delete ${draft}.`,
  );
}

/** `keyFile`: the key file that the first start creates beside the database. */
export function refuseLostDatabase(databaseFile: string, keyFile: string): void {
  if (!existsSync(keyFile) || hasSchema(databaseFile)) return;
  const state = existsSync(databaseFile) ? 'is empty' : 'is missing';
  throw new Problem(
    `The database ${databaseFile} ${state}, but ${keyFile} belongs to one. Is the right volume mounted? Restore the ` +
      `database file, or a backup: 'tocsin restore FILE'. ${howToStartNew(keyFile)}`,
  );
}

/** The same for PostgreSQL; to be called before the migrations. */
export async function refuseEmptyDatabase(database: Database, keyFile: string): Promise<void> {
  if (!existsSync(keyFile)) return;
  const [row] = await database.read(
    sql<{ exists: boolean }>`select to_regclass('schema_migrations') is not null as exists`.compile(database.build),
  );
  if (row?.exists === true) return;
  throw new Problem(
    `The PostgreSQL database ${database.name} is empty, but ${keyFile} belongs to a store with data. Check ` +
      "TOCSIN_DATABASE_URL. To move the data in this folder there, run 'tocsin migrate-store --to URL' without " +
      `TOCSIN_DATABASE_URL; to restore a backup, 'tocsin restore FILE'. ${howToStartNew(keyFile)}`,
  );
}

function howToStartNew(keyFile: string): string {
  return `To start a new store, move ${basename(keyFile)} elsewhere, and keep it while there are backups that need it.`;
}

/** True also if it cannot be determined: opening the database then reports the problem. */
function hasSchema(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || stats.size === 0) return false;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs });
    return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").get() !== undefined;
  } catch {
    return true;
  } finally {
    db?.close();
  }
}
