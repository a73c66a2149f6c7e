// Decrypts all values of the store, page by page, and lists those that cannot be decrypted.
import { EncryptionKeyMissing } from '../../usecases/ports/index.ts';
import { decryptKey } from '../repositories/keys.ts';
import type { Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import type { Keyring } from '../vault/keyring.ts';
import type { RowVersions } from '../vault/row-versions.ts';
import {
  type EncryptedColumn,
  encryptedColumns,
  isPlaintext,
  type KeyValue,
  keyOf,
  type Row,
  rowsOf,
} from './encrypted-columns.ts';
import { findRolledBack } from './row-version-scan.ts';

export async function verify(database: Database, keyring: Keyring, versions: RowVersions): Promise<string[]> {
  const problems = await database.verify();
  for (const column of encryptedColumns) {
    for await (const row of rowsOf(database, column)) {
      const key = keyOf(column, row);
      try {
        await decrypt(keyring, column, key, row);
      } catch (error) {
        // A missing data key is reported once, with its owner. Without an owner it was deleted on purpose.
        if (error instanceof EncryptionKeyMissing && column.table !== 'owners') continue;
        problems.push(`${column.table} ${key.join('/')}: ${(error as Error).message}`);
      }
    }
  }
  return [...problems, ...(await findRolledBack(database, keyring, versions))];
}

async function decrypt(keyring: Keyring, column: EncryptedColumn, key: readonly KeyValue[], row: Row): Promise<void> {
  const value = row[column.column] as Uint8Array | null;
  if (value === null || (column.table === 'meta' && isPlaintext(String(key[0])))) return;
  if (column.table === 'api_keys') await decryptKey(keyring.master, row as unknown as Tables['api_keys']);
  else await (column.encryptedWith === 'master key' ? keyring.master : keyring).decrypt(column.contextOf(key), value);
}
