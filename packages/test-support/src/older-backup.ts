import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { writeBackup } from '../../gateway/src/store/copy/backup.ts';
import { SqliteRows } from '../../gateway/src/store/copy/sqlite-rows.ts';
import { openSqliteSnapshot } from '../../gateway/src/store/copy/sqlite-snapshot.ts';
import { copyRows } from '../../gateway/src/store/copy/transfer.ts';
import { createSchema, knownMigrations, transferTables } from '../../gateway/src/store/copy/transfer-tables.ts';
import { masterKeyFileName } from '../../gateway/src/store/files/data-directory.ts';
import { createSqliteDatabase } from '../../gateway/src/store/sqlite/database.ts';
import { withoutRowVersions } from './older-rows.ts';

/** A backup as written by a version that had only the first two migrations. */
export async function writeOlderBackup(database: string, file: string): Promise<void> {
  const steps = knownMigrations.slice(0, 2);
  const older = `${file}.older`;
  const db = new DatabaseSync(older);
  createSchema(db, steps);
  const source = openSqliteSnapshot(database);
  await copyRows(transferTables(steps), source, new SqliteRows(db), () => undefined);
  await source.close();
  db.exec('PRAGMA journal_mode = WAL');
  db.close();
  const rows = createSqliteDatabase(older);
  await withoutRowVersions(rows, join(dirname(database), masterKeyFileName), ['owners', 'api_keys']);
  await rows.close();
  const snapshot = openSqliteSnapshot(older);
  await writeBackup(snapshot, file, { version: '0.0.1', createdAt: 0 }, () => undefined);
  await snapshot.close();
}
