// The `sealed` column of every table: one JSON value, sealed for its row.
import { DecryptionFailed } from '../../usecases/ports/index.ts';
import type { EncryptionKey } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { type CipherContext, encrypt } from './cipher.ts';
import type { Keyring } from './keyring.ts';
import type { MasterKeyring } from './master-keyring.ts';
import type { Versioned, VersionedTable } from './version-tree.ts';

type EncryptedTable = { [T in keyof Tables]: Tables[T] extends { sealed: Uint8Array } ? T : never }[keyof Tables];

interface EncryptedRow {
  owner_id: string;
  id: string;
  sealed: Uint8Array;
}

export function encryptValue(
  key: EncryptionKey,
  table: EncryptedTable,
  ownerId: string,
  rowId: string,
  value: unknown,
): Buffer {
  return encrypt(key, { table, ownerId, rowId, column: 'sealed' }, JSON.stringify(value));
}

/** With the version that a row in force has to have, see `row-versions.ts`. */
export function encryptVersioned(
  key: EncryptionKey,
  table: VersionedTable,
  ownerId: string,
  rowId: string,
  value: object,
  rowVersion: number,
): Buffer {
  return encryptValue(key, table, ownerId, rowId, { ...value, rowVersion });
}

export async function decryptVersioned<T>(
  keyring: Keyring,
  table: VersionedTable,
  row: EncryptedRow,
): Promise<Versioned<T>> {
  return toVersioned(await decryptValue(keyring, table, row));
}

/** Opens what was sealed with a data key of the row's owner. */
export async function decryptValue<T>(keyring: Keyring, table: EncryptedTable, row: EncryptedRow): Promise<T> {
  return parse(await keyring.decrypt(contextOf(table, row), row.sealed));
}

/** Opens what was sealed with the master key. */
export async function decryptMasterVersioned<T>(
  master: MasterKeyring,
  table: VersionedTable,
  row: EncryptedRow,
): Promise<Versioned<T>> {
  return toVersioned(parse(await master.decrypt(contextOf(table, row), row.sealed)));
}

/** Rows of the version before have none. */
function toVersioned<T>({ rowVersion = 0, ...value }: { rowVersion?: number }): Versioned<T> {
  return { value: value as T, rowVersion };
}

/** For lists: null where a row does not decrypt, after `onDamaged` heard of it; without `onDamaged` it rejects. */
export function decryptOrReport<Row extends { id: string }, T>(
  open: (row: Row) => Promise<T | null>,
  onDamaged: ((id: string) => void) | undefined,
): (row: Row) => Promise<T | null> {
  return async (row) => {
    try {
      return await open(row);
    } catch (error) {
      if (onDamaged === undefined || !(error instanceof DecryptionFailed)) throw error;
      onDamaged(row.id);
      return null;
    }
  };
}

/** What hears of rows that are not in force where the caller does not want to: it rejects. */
export function rejectRefused(table: VersionedTable): (id: string) => never {
  return (id) => {
    throw new DecryptionFailed(`${table} ${id}: an earlier state of it was put back`);
  };
}

/** Rejects with the first that does not open, unless somebody wants to hear of those instead, by their ids. */
export async function decryptAll<Row extends { id: string }, T>(
  rows: readonly Row[],
  open: (row: Row) => Promise<T>,
  onDamaged?: (id: string) => void,
): Promise<T[]> {
  const opened = await Promise.all(
    rows.map(async (row) => {
      try {
        return [await open(row)];
      } catch (error) {
        if (onDamaged === undefined || !(error instanceof DecryptionFailed)) throw error;
        onDamaged(row.id);
        return [];
      }
    }),
  );
  return opened.flat() as T[];
}

export function contextOf(table: EncryptedTable, row: Omit<EncryptedRow, 'sealed'>): CipherContext {
  return { table, ownerId: row.owner_id, rowId: row.id, column: 'sealed' };
}

function parse<T>(plaintext: Buffer): T {
  return JSON.parse(plaintext.toString('utf8')) as T;
}
