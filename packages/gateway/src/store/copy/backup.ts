// A backup is one SQLite file with the schema and the encrypted rows of a store of either backend, and a manifest with
// digests of its tables. It does not contain the master key.
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../core/problem.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { fileExists } from '../files/data-directory.ts';
import { Draft, putInPlace, quickCheck } from '../files/draft.ts';
import { appliedMigrations } from '../sqlite/apply-migrations.ts';
import { createNewerSchema, isNewer } from './newer-schema.ts';
import { SqliteRows } from './sqlite-rows.ts';
import { copyRows, digestTable, type Progress, type RowSource, type Snapshot } from './transfer.ts';
import type { TableDigest } from './transfer-digest.ts';
import { createSchema, type Table, transferTables } from './transfer-tables.ts';

/** The application id 'Tcsn' in the header of the SQLite file, which file(1) shows. */
const applicationId = 0x5463736e;
const format = 1;

export interface Manifest {
  format: number;
  /** The version of Tocsin that wrote it. */
  version: string;
  createdAt: number;
  tables: TableDigest[];
}

export interface Backup extends Snapshot {
  manifest: Manifest;
  tables: Table[];
}

export async function writeBackup(
  source: Snapshot,
  file: string,
  about: Pick<Manifest, 'version' | 'createdAt'>,
  onProgress: (progress: Progress) => void,
): Promise<{ manifest: Manifest; bytes: number }> {
  assertNewFile(file);
  const draft = Draft.create(`${file}.part`);
  try {
    const carried = await createSchemaOf(draft.db, source);
    const copied = await copyRows(carried, source, new SqliteRows(draft.db), onProgress);
    const tables = copied.map(({ name, rows, digest }) => ({ name, rows, digest }));
    const manifest: Manifest = { format, ...about, tables };
    draft.db.exec(`CREATE TABLE tocsin_backup (manifest text NOT NULL); PRAGMA application_id = ${applicationId}`);
    draft.db.prepare('INSERT INTO tocsin_backup (manifest) VALUES (?)').run(JSON.stringify(manifest));
    draft.finish();
    assertNewFile(file);
    putInPlace(draft.file, file);
    return { manifest, bytes: statSync(file).size };
  } catch (error) {
    draft.discard();
    throw toProblem(error, `The backup ${file} could not be written`);
  }
}

async function createSchemaOf(db: DatabaseSync, source: Snapshot): Promise<Table[]> {
  if (isNewer(source.applied)) return createNewerSchema(db, source);
  createSchema(db, source.applied);
  return transferTables(source.applied);
}

/** Opens a backup after a complete check. */
export async function openBackup(file: string): Promise<Backup> {
  if (!fileExists(file)) throw new Problem(`There is no file ${file}.`);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: true });
    // The file may be forged: no functions from its schema, and no cells outside their page.
    db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON');
    const backup = await examine(db, file);
    const damaged = await damagedTables(backup);
    if (damaged.length > 0) {
      throw new Problem(
        `The backup ${file} is damaged: the digest of ${damaged.join(', ')} is wrong. Use another backup.`,
      );
    }
    return backup;
  } catch (error) {
    db?.close();
    throw toProblem(error, `${file} is not a Tocsin backup, or is damaged`);
  }
}

async function examine(db: DatabaseSync, file: string): Promise<Backup> {
  if (db.prepare('PRAGMA application_id').get()?.application_id !== applicationId) {
    throw new Problem(`${file} is not a Tocsin backup; 'tocsin backup' creates one.`);
  }
  assertOnlyTables(db, file);
  const problems = quickCheck(db);
  if (problems.length > 0) throw new Problem(`The backup ${file} is damaged: ${problems[0]}. Use another backup.`);
  const manifest = readManifest(String(db.prepare('SELECT manifest FROM tocsin_backup').get()?.manifest), file);
  const applied = appliedMigrations(db);
  refuseUnknownSchema(applied, `The backup ${file}`);
  const rows = new SqliteRows(db);
  return {
    manifest,
    applied,
    tables: transferTables(applied),
    describeTables: async () => transferTables(applied),
    pages: (table) => rows.pages(table),
    generation: () => rows.generation(),
    close: async () => db.close(),
  };
}

/** Reading a view or a virtual table of a forged file would run its SQL, which may never end. */
function assertOnlyTables(db: DatabaseSync, file: string): void {
  const others = "SELECT name FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR rootpage = 0 LIMIT 1";
  const found = db.prepare(others).get();
  if (found === undefined) return;
  throw new Problem(
    `${file} is not a Tocsin backup, or was changed: ${found.name} is not a table. Use another backup.`,
  );
}

function readManifest(text: string, file: string): Manifest {
  const manifest = JSON.parse(text) as Partial<Manifest> | null;
  if (typeof manifest?.format === 'number' && manifest.format > format) throw newer(`The backup ${file}`);
  if (!isManifest(manifest)) {
    throw new Problem(`The backup ${file} is damaged: its manifest is invalid. Use another backup.`);
  }
  return manifest;
}

function isManifest(manifest: Partial<Manifest> | null): manifest is Manifest {
  if (manifest?.format !== format || typeof manifest.version !== 'string' || !Array.isArray(manifest.tables)) {
    return false;
  }
  const { createdAt, tables } = manifest;
  const isTime = typeof createdAt === 'number' && !Number.isNaN(new Date(createdAt).getTime());
  return isTime && tables.every((table) => typeof table?.name === 'string' && typeof table.digest === 'string');
}

async function damagedTables(backup: Backup & RowSource): Promise<string[]> {
  const damaged: string[] = [];
  for (const table of backup.tables) {
    const expected = backup.manifest.tables.find(({ name }) => name === table.name);
    const actual = await digestTable(table, backup);
    if (actual.digest !== expected?.digest) damaged.push(table.name);
  }
  return damaged;
}

function assertNewFile(file: string): void {
  if (existsSync(file)) throw new Problem(`${file} already exists and was not changed. Name another file.`);
}

export function refuseUnknownSchema(applied: readonly string[], what: string): void {
  if (isNewer(applied)) throw newer(what);
}

function newer(what: string): Problem {
  return new Problem(`${what} was written by a newer version of Tocsin. Use that version, or a newer one.`);
}

/** Turns errors of the database and the disk into Problems; any other error is a bug. */
export function toProblem(error: unknown, what: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  // A number out of range is in no row that Tocsin wrote.
  const isExpected = error instanceof StoreUnavailable || error instanceof SyntaxError || code === 'ERR_OUT_OF_RANGE';
  if (isExpected || code === 'ERR_SQLITE_ERROR' || /^E[A-Z]+$/.test(code ?? '')) {
    return new Problem(`${what}: ${message}`);
  }
  return error;
}
