// The `sealed` column of every table: one JSON value, sealed for its row.

import { type SealingKey, seal } from './cipher.ts';
import type { Keyring } from './keyring.ts';
import type { Tables } from './tables.ts';

type SealedTable = { [T in keyof Tables]: Tables[T] extends { sealed: Uint8Array } ? T : never }[keyof Tables];

export function sealValue(key: SealingKey, table: SealedTable, ownerId: string, rowId: string, value: unknown): Buffer {
  return seal(key, { table, ownerId, rowId, column: 'sealed' }, JSON.stringify(value));
}

export async function openValue<T>(
  keyring: Keyring,
  table: SealedTable,
  row: { owner_id: string; id: string; sealed: Uint8Array },
): Promise<T> {
  const place = { table, ownerId: row.owner_id, rowId: row.id, column: 'sealed' };
  return JSON.parse((await keyring.unseal(place, row.sealed)).toString('utf8')) as T;
}
