// The `sealed` column of every table: one JSON value, sealed for its row.
import { SealBroken } from '../gateway/ports.ts';
import { type Place, type SealingKey, seal } from './cipher.ts';
import type { Keyring } from './keyring.ts';
import type { MasterKeyring } from './master-keyring.ts';
import type { Tables } from './tables.ts';

type SealedTable = { [T in keyof Tables]: Tables[T] extends { sealed: Uint8Array } ? T : never }[keyof Tables];

interface SealedRow {
  owner_id: string;
  id: string;
  sealed: Uint8Array;
}

export function sealValue(key: SealingKey, table: SealedTable, ownerId: string, rowId: string, value: unknown): Buffer {
  return seal(key, { table, ownerId, rowId, column: 'sealed' }, JSON.stringify(value));
}

/** Opens what was sealed with a data key of the row's owner. */
export async function openValue<T>(keyring: Keyring, table: SealedTable, row: SealedRow): Promise<T> {
  return parse(await keyring.unseal(placeOf(table, row), row.sealed));
}

/** Opens what was sealed with the master key. */
export async function openMasterValue<T>(master: MasterKeyring, table: SealedTable, row: SealedRow): Promise<T> {
  return parse(await master.unseal(placeOf(table, row), row.sealed));
}

/** Rejects with the first that does not open, unless somebody wants to hear of those instead, by their ids. */
export async function openAll<Row extends { id: string }, T>(
  rows: readonly Row[],
  open: (row: Row) => Promise<T>,
  onDamaged?: (id: string) => void,
): Promise<T[]> {
  const opened = await Promise.all(
    rows.map(async (row) => {
      try {
        return [await open(row)];
      } catch (error) {
        if (onDamaged === undefined || !(error instanceof SealBroken)) throw error;
        onDamaged(row.id);
        return [];
      }
    }),
  );
  return opened.flat() as T[];
}

export function placeOf(table: SealedTable, row: Omit<SealedRow, 'sealed'>): Place {
  return { table, ownerId: row.owner_id, rowId: row.id, column: 'sealed' };
}

function parse<T>(plaintext: Buffer): T {
  return JSON.parse(plaintext.toString('utf8')) as T;
}
