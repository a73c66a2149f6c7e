// Copies a whole store into a PostgreSQL database, which is marked until the copy is whole.
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
  /** Also over rows that are no copy, if this installation wrote them or the same master key opens them. */
  replace: boolean;
  /** May be copied into again until somebody uses it. */
  isRepeatable: boolean;
  onProgress: (progress: Progress) => void;
}

/** The source has to be of the newest schema. */
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
      await refuseForeignData(database, source, keys, replace);
      await writeCopyState(database, 'copying');
      const tables = transferTables();
      const copied = await copyRows(tables, source, rows, onProgress);
      await rows.analyze(tables);
      // The first durable commit after the rows: with it they are durable, too.
      await writeCopyState(database, isRepeatable ? 'copied' : null);
      return copied;
    } catch (error) {
      throw toProblem(error, 'The copy was cut off; run this again');
    } finally {
      await database.close();
    }
  } finally {
    await rows.close();
  }
}

async function refuseForeignData(
  database: Database,
  source: RowSource,
  keys: MasterKeySource,
  replace: boolean,
): Promise<void> {
  const state = await readCopyState(database);
  const owners = await database.read(database.build.selectFrom('owners').select('id').limit(1).compile());
  if (owners.length === 0) return;
  if (!(await isSameInstallation(source, database))) await refuseOtherKey(database, keys);
  if (state === null && !replace) {
    throw new Problem(
      'This PostgreSQL database holds data already, and a server or a command may have added to it: it is left as it is. ' +
        'Name an empty database, or lose what it holds with --replace.',
    );
  }
}

async function refuseOtherKey(database: Database, keys: MasterKeySource): Promise<void> {
  try {
    await MasterKeyring.open(database, keys, () => undefined);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(
      'This PostgreSQL database holds the data of another installation: the master key does not open it. It is left as ' +
        `it is; name another database. If it is from before a rotation, put the key of that time behind the present one ` +
        `in ${keys.name}.`,
    );
  }
}
