// Copies the SQLite store into a PostgreSQL database. Can be repeated: the second time only changed rows are written.
import { join } from 'node:path';
import { refuseUnknownSchema } from './copy/backup.ts';
import { copyIntoPostgres } from './copy/copy-into-postgres.ts';
import { nameInstallation } from './copy/installation.ts';
import { openSqliteSnapshot } from './copy/sqlite-snapshot.ts';
import type { CopiedTable, Progress } from './copy/transfer.ts';
import { databaseFileName, masterKeyFileName } from './files/data-directory.ts';
import { openStore } from './open-store.ts';
import type { StoreOptions } from './schema/store-options.ts';
import { createSqliteDatabase } from './sqlite/database.ts';
import { masterKeySource } from './vault/master-key.ts';

export async function migrateStore(
  { dataDir, masterKey }: Omit<StoreOptions, 'databaseUrl'>,
  url: string,
  replace: boolean,
  onProgress: (progress: Progress) => void,
): Promise<CopiedTable[]> {
  // Applies migrations and checks the master key.
  await (await openStore({ dataDir, masterKey }, 'existing')).close();
  const database = createSqliteDatabase(join(dataDir, databaseFileName));
  await nameInstallation(database).finally(() => database.close());
  const source = openSqliteSnapshot(join(dataDir, databaseFileName));
  try {
    refuseUnknownSchema(source.applied, 'The store');
    const keys = masterKeySource(masterKey, join(dataDir, masterKeyFileName));
    return await copyIntoPostgres(source, url, { keys, replace, isRepeatable: true, onProgress });
  } finally {
    await source.close();
  }
}
