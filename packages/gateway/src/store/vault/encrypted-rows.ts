// The column `sealed`, which most tables have: one JSON value, encrypted for its row.
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

/** Adds the version of the row, see `row-versions.ts`. */
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

/** Decrypts a value with the data key of the row's owner. */
export async function decryptValue<T>(keyring: Keyring, table: EncryptedTable, row: EncryptedRow): Promise<T> {
  return parse(await keyring.decrypt(contextOf(table, row), row.sealed));
}

/** Decrypts a value with the master key. */
export async function decryptMasterVersioned<T>(
  master: MasterKeyring,
  table: VersionedTable,
  row: EncryptedRow,
): Promise<Versioned<T>> {
  return toVersioned(parse(await master.decrypt(contextOf(table, row), row.sealed)));
}

/** Rows of earlier releases have no version. */
function toVersioned<T>({ rowVersion = 0, ...value }: { rowVersion?: number }): Versioned<T> {
  return { value: value as T, rowVersion };
}

/** For lists: calls `onDamaged` and returns null if a row cannot be decrypted; without `onDamaged` it rejects. */
export function decryptOrReport<Row extends { id: string }, T>(
  decrypt: (row: Row) => Promise<T | null>,
  onDamaged: ((id: string) => void) | undefined,
): (row: Row) => Promise<T | null> {
  return async (row) => {
    try {
      return await decrypt(row);
    } catch (error) {
      if (onDamaged === undefined || !(error instanceof DecryptionFailed)) throw error;
      onDamaged(row.id);
      return null;
    }
  };
}

/** The default for callers without `onDamaged`: rejects on a row that was rolled back. */
export function rejectRefused(table: VersionedTable): (id: string) => never {
  return (id) => {
    throw new DecryptionFailed(`${table} ${id}: it was rolled back to an earlier state`);
  };
}

/** Rejects if a row cannot be decrypted, unless `onDamaged` is given, which is called with its id instead. */
export async function decryptAll<Row extends { id: string }, T>(
  rows: readonly Row[],
  decrypt: (row: Row) => Promise<T>,
  onDamaged?: (id: string) => void,
): Promise<T[]> {
  const decrypted = await Promise.all(
    rows.map(async (row) => {
      try {
        return [await decrypt(row)];
      } catch (error) {
        if (onDamaged === undefined || !(error instanceof DecryptionFailed)) throw error;
        onDamaged(row.id);
        return [];
      }
    }),
  );
  return decrypted.flat() as T[];
}

export function contextOf(table: EncryptedTable, row: Omit<EncryptedRow, 'sealed'>): CipherContext {
  return { table, ownerId: row.owner_id, rowId: row.id, column: 'sealed' };
}

function parse<T>(plaintext: Buffer): T {
  return JSON.parse(plaintext.toString('utf8')) as T;
}
