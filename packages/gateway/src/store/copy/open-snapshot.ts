// A snapshot of the configured store, for backups. It is read-only and needs no master key.
import { join } from 'node:path';
import { databaseFileName } from '../files/data-directory.ts';
import type { StoreOptions } from '../schema/store-options.ts';
import { openSqliteSnapshot } from './sqlite-snapshot.ts';
import type { Snapshot } from './transfer.ts';

export async function openSnapshot({ dataDir, databaseUrl = null }: StoreOptions): Promise<Snapshot> {
  if (databaseUrl === null) return openSqliteSnapshot(join(dataDir, databaseFileName));
  const { openPostgresSnapshot } = await import('./postgres-rows.ts');
  return openPostgresSnapshot(databaseUrl);
}
