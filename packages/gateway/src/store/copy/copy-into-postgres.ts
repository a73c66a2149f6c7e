// Copies a whole store into a PostgreSQL database, which has a marker until the copy is complete.
import { Problem } from '../../core/problem.ts';
import { openPostgresDatabase } from '../postgres/database.ts';
import { readCopyState, writeCopyState } from '../schema/copy-marker.ts';
import type { Database } from '../schema/database.ts';
import { migrations } from '../schema/migrations.ts';
import type { MasterKeySource } from '../vault/master-key.ts';
import { MasterKeyring } from '../vault/master-keyring.ts';
import { toProblem } from './backup.ts';
import { isSameInstallation } from './installation.ts';
import { PostgresRows } from './postgres-rows.ts';
import { type CopiedTable, copyRows, type Progress, type RowSource } from './transfer.ts';
import { transferTables } from './transfer-tables.ts';

export interface CopyOptions {
  keys: MasterKeySource;
  /** Overwrite existing rows, if they are of the same installation or encrypted with the same master key. */
  replace: boolean;
  /** Copying again is allowed until the database is first used. */
  isRepeatable: boolean;
  onProgress: (progress: Progress) => void;
}

/** The source must have the newest schema. */
export async function copyIntoPostgres(
  source: RowSource,
  url: string,
  { keys, replace, isRepeatable, onProgress }: CopyOptions,
): Promise<CopiedTable[]> {
  const rows = await PostgresRows.open(url);
  try {
    const database = await openPostgresDatabase(url, 'create');
    try {
      await database.migrate(migrations(database.build, database.dialect));
      await assertSameInstallation(database, source, keys, replace);
      await writeCopyState(database, 'copying');
      const tables = transferTables();
      const copied = await copyRows(tables, source, rows, onProgress);
      await rows.analyze(tables);
      // The first synchronous commit after the rows makes them durable, too.
      await writeCopyState(database, isRepeatable ? 'copied' : null);
      return copied;
    } catch (error) {
      throw toProblem(error, 'The copy was interrupted; run this again');
    } finally {
      await database.close();
    }
  } finally {
    await rows.close();
  }
}

async function assertSameInstallation(
  database: Database,
  source: RowSource,
  keys: MasterKeySource,
  replace: boolean,
): Promise<void> {
  const state = await readCopyState(database);
  const owners = await database.read(database.build.selectFrom('owners').select('id').limit(1).compile());
  if (owners.length === 0) return;
  if (!(await isSameInstallation(source, database))) await assertSameKey(database, keys);
  if (state === null && !replace) {
    throw new Problem(
      'This PostgreSQL database already contains data, which a server or a command may have changed since. Nothing was ' +
        'changed. Name an empty database, or overwrite it with --replace.',
    );
  }
}

async function assertSameKey(database: Database, keys: MasterKeySource): Promise<void> {
  try {
    await MasterKeyring.open(database, keys, () => undefined);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(
      'This PostgreSQL database contains the data of another installation, encrypted with another master key. Nothing was ' +
        `changed. Name another database. If the data is from before a rotation, add the old key after the current one ` +
        `in ${keys.name}.`,
    );
  }
}
