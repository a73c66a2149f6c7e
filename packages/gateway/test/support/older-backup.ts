import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { writeBackup } from '../../src/store/backup.ts';
import { masterKeyFileName } from '../../src/store/open-store.ts';
import { createSqliteDatabase } from '../../src/store/sqlite/database.ts';
import { SqliteRows } from '../../src/store/sqlite/rows.ts';
import { openSqliteSnapshot } from '../../src/store/sqlite/snapshot.ts';
import { copyRows } from '../../src/store/transfer.ts';
import { createSchema, knownMigrations, transferTables } from '../../src/store/transfer-tables.ts';
import { withoutRowVersions } from './older-rows.ts';

/** A backup as a version would have written it that knew the first two steps of the schema only. */
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
