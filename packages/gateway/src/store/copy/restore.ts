// Restores a backup. Nothing is changed before the backup was read completely and its master key was checked.
import { existsSync, linkSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../core/problem.ts';
import { databaseFileName, fileExists, makeFolder, masterKeyFileName } from '../files/data-directory.ts';
import { lockDataDirectory } from '../files/data-directory-lock.ts';
import { Draft, putInPlace } from '../files/draft.ts';
import type { FileLock } from '../files/file-lock.ts';
import { unfinishedRestore } from '../files/lost-database.ts';
import { isContention } from '../files/sqlite-result-codes.ts';
import type { StoreOptions } from '../schema/store-options.ts';
import { masterKeySource } from '../vault/master-key.ts';
import { type Backup, type Manifest, openBackup, toProblem } from './backup.ts';
import { proveKeyOfBackup } from './backup-key.ts';
import { copyIntoPostgres } from './copy-into-postgres.ts';
import { SqliteRows } from './sqlite-rows.ts';
import { openSqliteSnapshot } from './sqlite-snapshot.ts';
import { type CopiedTable, copyRows, type Progress, type RowSource } from './transfer.ts';
import { createSchema, knownMigrations } from './transfer-tables.ts';

export interface RestoreOptions {
  /** Replace a store that contains data. */
  replace: boolean;
  now: number;
}

export interface Restored {
  manifest: Manifest;
  tables: CopiedTable[];
  /** Where the previous database was moved to; null if there was none with owners. */
  kept: string | null;
}

export async function restore(
  { dataDir, databaseUrl = null, masterKey }: StoreOptions,
  file: string,
  options: RestoreOptions,
  onProgress: (progress: Progress) => void,
): Promise<Restored> {
  const backup = await openBackup(file);
  try {
    const keys = masterKeySource(masterKey, join(dataDir, masterKeyFileName));
    await proveKeyOfBackup(file, keys);
    if (databaseUrl === null) return await restoreToFile(backup, join(dataDir, databaseFileName), options, onProgress);
    const copy = (source: RowSource): Promise<CopiedTable[]> =>
      copyIntoPostgres(source, databaseUrl, { keys, replace: options.replace, isRepeatable: false, onProgress });
    return { manifest: backup.manifest, tables: await withNewestSchema(backup, copy), kept: null };
  } finally {
    await backup.close();
  }
}

/** Builds the database in a draft file and renames it. */
async function restoreToFile(
  backup: Backup,
  file: string,
  { replace, now }: RestoreOptions,
  onProgress: (progress: Progress) => void,
): Promise<Restored> {
  const keepAs = `${file}.replaced-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}`;
  let draft: Draft | undefined;
  let lock: FileLock | null = null;
  try {
    makeFolder(dirname(file));
    lock = lockDataDirectory(dirname(file), 'restore');
    // Reports mistakes before the work; the check at the end counts.
    whileUnused(file, replace, () => null);
    draft = Draft.create(unfinishedRestore(file));
    const tables = await unpack(backup, draft, onProgress);
    const { file: whole } = draft;
    const kept = whileUnused(file, replace, (isWorthKeeping) => {
      setAside(file, keepAs, isWorthKeeping);
      putInPlace(whole, file);
      return isWorthKeeping ? keepAs : null;
    });
    return { manifest: backup.manifest, tables, kept };
  } catch (error) {
    draft?.discard();
    throw toProblem(error, `The database ${file} could not be restored`);
  } finally {
    lock?.release();
  }
}

/** Migrates a backup of an older version in a temporary file first. */
async function withNewestSchema<T>(backup: Backup, use: (source: RowSource) => Promise<T>): Promise<T> {
  if (knownMigrations.every((name) => backup.applied.includes(name))) return use(backup);
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-restore-'));
  try {
    const draft = Draft.create(join(folder, databaseFileName));
    await unpack(backup, draft, () => undefined);
    const upgraded = openSqliteSnapshot(draft.file);
    try {
      return await use(upgraded);
    } finally {
      await upgraded.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies the rows, then applies the migrations that the backup lacks. */
async function unpack(backup: Backup, draft: Draft, onProgress: (progress: Progress) => void): Promise<CopiedTable[]> {
  createSchema(draft.db, backup.applied);
  const copied = await copyRows(backup.tables, backup, new SqliteRows(draft.db), onProgress);
  createSchema(draft.db);
  draft.finish();
  return copied;
}

/** Locks the database exclusively meanwhile; fails if a server or another process uses it. */
function whileUnused<T>(file: string, replace: boolean, use: (isWorthKeeping: boolean) => T): T {
  if (!fileExists(file)) return use(false);
  const db = new DatabaseSync(file, { timeout: 0 });
  let isWorthKeeping: boolean;
  try {
    isWorthKeeping = lockExclusively(db);
  } catch (error) {
    db.close();
    if (isContention(error)) {
      throw new Problem(
        `The database ${file} is in use. Stop the server, and any other process that has it open, first.`,
      );
    }
    // A database that is too damaged to be opened may be replaced.
    if (replace) return use(true);
    throw new Problem(
      `The database ${file} cannot be opened (${(error as Error).message}). Use --replace to move it aside.`,
    );
  }
  try {
    if (isWorthKeeping && !replace) {
      throw new Problem(
        `The database ${file} already contains data, and was not changed. Restore into another TOCSIN_DATA_DIR, or move it ` +
          'aside with --replace.',
      );
    }
    return use(isWorthKeeping);
  } finally {
    db.close();
  }
}

/** Returns whether there are owners. Only the sole user of a database can leave WAL mode. */
function lockExclusively(db: DatabaseSync): boolean {
  db.exec('PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  const tables = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'owners'").all();
  return tables.length > 0 && db.prepare('SELECT 1 FROM owners LIMIT 1').all().length > 0;
}

/** A remaining log file would be applied to the new database. */
function setAside(file: string, keepAs: string, isWorthKeeping: boolean): void {
  for (const suffix of ['-wal', '-shm', '-journal']) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${keepAs}${suffix}`);
  }
  if (isWorthKeeping) linkSync(file, keepAs);
}
