// The `sealed` column of every table: one JSON value, sealed for its row.
import { SealBroken } from '../../usecases/ports/index.ts';
import type { SealingKey } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { type Place, seal } from './cipher.ts';
import type { Keyring } from './keyring.ts';
import type { MasterKeyring } from './master-keyring.ts';
import type { Versioned, VersionedTable } from './row-versions.ts';

type SealedTable = { [T in keyof Tables]: Tables[T] extends { sealed: Uint8Array } ? T : never }[keyof Tables];

interface SealedRow {
  owner_id: string;
  id: string;
  sealed: Uint8Array;
}

export function sealValue(key: SealingKey, table: SealedTable, ownerId: string, rowId: string, value: unknown): Buffer {
  return seal(key, { table, ownerId, rowId, column: 'sealed' }, JSON.stringify(value));
}

/** With the version that a row in force has to have, see `row-versions.ts`. */
export function sealVersioned(
  key: SealingKey,
  table: VersionedTable,
  ownerId: string,
  rowId: string,
  value: object,
  rowVersion: number,
): Buffer {
  return sealValue(key, table, ownerId, rowId, { ...value, rowVersion });
}

export async function openVersioned<T>(keyring: Keyring, table: VersionedTable, row: SealedRow): Promise<Versioned<T>> {
  return toVersioned(await openValue(keyring, table, row));
}

/** Opens what was sealed with a data key of the row's owner. */
export async function openValue<T>(keyring: Keyring, table: SealedTable, row: SealedRow): Promise<T> {
  return parse(await keyring.unseal(placeOf(table, row), row.sealed));
}

/** Opens what was sealed with the master key. */
export async function openMasterVersioned<T>(
  master: MasterKeyring,
  table: VersionedTable,
  row: SealedRow,
): Promise<Versioned<T>> {
  return toVersioned(parse(await master.unseal(placeOf(table, row), row.sealed)));
}

/** Rows of the version before have none. */
function toVersioned<T>({ rowVersion = 0, ...value }: { rowVersion?: number }): Versioned<T> {
  return { value: value as T, rowVersion };
}

/** For lists: null where a row does not decrypt, after `onDamaged` heard of it; without `onDamaged` it rejects. */
export function openOr<Row extends { id: string }, T>(
  open: (row: Row) => Promise<T | null>,
  onDamaged: ((id: string) => void) | undefined,
): (row: Row) => Promise<T | null> {
  return async (row) => {
    try {
      return await open(row);
    } catch (error) {
      if (onDamaged === undefined || !(error instanceof SealBroken)) throw error;
      onDamaged(row.id);
      return null;
    }
  };
}

/** What hears of rows that are not in force where the caller does not want to: it rejects. */
export function rejectRefused(table: VersionedTable): (id: string) => never {
  return (id) => {
    throw new SealBroken(`${table} ${id}: an earlier state of it was put back`);
  };
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
