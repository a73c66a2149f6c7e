// Opens every sealed value of the store, page by page, and says which do not open.
import { EncryptionKeyMissing } from '../gateway/ports.ts';
import type { Database } from './database.ts';
import type { Keyring } from './keyring.ts';
import { openKey } from './keys.ts';
import { findRolledBack } from './row-version-scan.ts';
import type { RowVersions } from './row-versions.ts';
import {
  isInTheClear,
  type KeyValue,
  keyOf,
  type Row,
  rowsOf,
  type SealedColumn,
  sealedColumns,
} from './sealed-places.ts';
import type { Tables } from './tables.ts';

export async function verify(database: Database, keyring: Keyring, versions: RowVersions): Promise<string[]> {
  const problems = await database.verify();
  for (const column of sealedColumns) {
    for await (const row of rowsOf(database, column)) {
      const key = keyOf(column, row);
      try {
        await open(keyring, column, key, row);
      } catch (error) {
        // One word about the data key is enough, and comes with its owner. Without an owner it was shredded on purpose.
        if (error instanceof EncryptionKeyMissing && column.table !== 'owners') continue;
        problems.push(`${column.table} ${key.join('/')}: ${(error as Error).message}`);
      }
    }
  }
  return [...problems, ...(await findRolledBack(database, keyring, versions))];
}

async function open(keyring: Keyring, column: SealedColumn, key: readonly KeyValue[], row: Row): Promise<void> {
  const value = row[column.column] as Uint8Array | null;
  if (value === null || (column.table === 'meta' && isInTheClear(String(key[0])))) return;
  if (column.table === 'api_keys') await openKey(keyring.master, row as unknown as Tables['api_keys']);
  else await (column.sealedBy === 'master key' ? keyring.master : keyring).unseal(column.placeOf(key), value);
}
