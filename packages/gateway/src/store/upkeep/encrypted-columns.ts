// All columns with encrypted values, the keys they are encrypted with, and the context their values are bound to.
import { type CompiledQuery, sql } from 'kysely';
import { installationRow } from '../copy/installation.ts';
import { deliveryContext } from '../repositories/delivery-rows.ts';
import { idempotencyContext } from '../repositories/idempotency.ts';
import { copyMarker } from '../schema/copy-marker.ts';
import type { Database } from '../schema/database.ts';
import { legacyRow } from '../schema/legacy-installation.ts';
import { isFactRow } from '../schema/meta.ts';
import type { Tables } from '../schema/tables.ts';
import type { CipherContext } from '../vault/cipher.ts';
import { contextOf } from '../vault/encrypted-rows.ts';
import { dataKeyContext } from '../vault/keyring.ts';
import { isRetiredKeyRow } from '../vault/retired-keys.ts';
import { secretContext } from '../vault/secrets.ts';
import { nodeContext } from '../vault/version-node-rows.ts';

export type KeyValue = string | number;
export type Row = Record<string, unknown>;

const pageSize = 500;

export interface EncryptedColumn {
  table: keyof Tables;
  column: string;
  /** The columns of the primary key. */
  key: readonly string[];
  encryptedWith: 'master key' | 'data key';
  /** The context of a row, from the values of its primary key. */
  contextOf(key: readonly KeyValue[]): CipherContext;
}

type KeyedById =
  | 'api_keys'
  | 'hooks'
  | 'devices'
  | 'push_targets'
  | 'notifications'
  | 'sessions'
  | 'passkeys'
  | 'oidc_identities';

const ofOwner = (table: KeyedById): Omit<EncryptedColumn, 'encryptedWith'> => ({
  table,
  column: 'sealed',
  key: ['owner_id', 'id'],
  contextOf: ([ownerId, id]) => contextOf(table, { owner_id: String(ownerId), id: String(id) }),
});

export const encryptedColumns: readonly EncryptedColumn[] = [
  {
    table: 'meta',
    column: 'value',
    key: ['name'],
    encryptedWith: 'master key',
    contextOf: ([name]) => secretContext(String(name)),
  },
  {
    table: 'data_keys',
    column: 'wrapped',
    key: ['owner_id', 'version'],
    encryptedWith: 'master key',
    contextOf: ([ownerId, version]) => dataKeyContext(String(ownerId), Number(version)),
  },
  { ...ofOwner('api_keys'), encryptedWith: 'master key' },
  { ...ofOwner('hooks'), encryptedWith: 'master key' },
  {
    table: 'row_versions',
    column: 'sealed',
    key: ['id'],
    encryptedWith: 'master key',
    contextOf: ([id]) => nodeContext(String(id)),
  },
  {
    table: 'owners',
    column: 'sealed',
    key: ['id'],
    encryptedWith: 'data key',
    contextOf: ([id]) => contextOf('owners', { owner_id: String(id), id: String(id) }),
  },
  { ...ofOwner('devices'), encryptedWith: 'data key' },
  { ...ofOwner('push_targets'), encryptedWith: 'data key' },
  { ...ofOwner('notifications'), encryptedWith: 'data key' },
  {
    table: 'originals',
    column: 'sealed',
    key: ['owner_id', 'notification_id'],
    encryptedWith: 'data key',
    contextOf: ([ownerId, id]) => contextOf('originals', { owner_id: String(ownerId), id: String(id) }),
  },
  {
    table: 'deliveries',
    column: 'sealed',
    key: ['owner_id', 'notification_id', 'channel', 'target'],
    encryptedWith: 'data key',
    contextOf: ([ownerId, ...key]) => deliveryContext(String(ownerId), key.map(String)),
  },
  {
    table: 'idempotency',
    column: 'sealed',
    key: ['owner_id', 'key_digest'],
    encryptedWith: 'data key',
    contextOf: ([ownerId, digest]) => idempotencyContext(String(ownerId), String(digest)),
  },
  { ...ofOwner('sessions'), encryptedWith: 'data key' },
  {
    table: 'one_time_links',
    column: 'sealed',
    key: ['owner_id', 'token_digest'],
    encryptedWith: 'data key',
    contextOf: ([ownerId, digest]) => contextOf('one_time_links', { owner_id: String(ownerId), id: String(digest) }),
  },
  { ...ofOwner('passkeys'), encryptedWith: 'data key' },
  { ...ofOwner('oidc_identities'), encryptedWith: 'data key' },
];

/** Whether a row of `meta` is not encrypted. */
export function isPlaintext(name: string): boolean {
  if (name === copyMarker || name === installationRow || name === legacyRow) return true;
  return isRetiredKeyRow(name) || isFactRow(name);
}

/** All rows of the column's table in the order of the key, or those of one owner, whose id is the first part of the key. */
export async function* rowsOf(database: Database, column: EncryptedColumn, ownerId?: string): AsyncGenerator<Row> {
  for (let after: readonly KeyValue[] | null = null; ; ) {
    const page: Row[] = await database.read(selectPage(database, column, after, ownerId));
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = keyOf(column, last);
  }
}

function selectPage(
  { build }: Database,
  column: EncryptedColumn,
  after: readonly KeyValue[] | null,
  ownerId: string | undefined,
): CompiledQuery<Row> {
  const key = sql.join(column.key.map((name) => sql.ref(name)));
  const rest = after === null ? sql`true` : sql`(${key}) > (${sql.join([...after])})`;
  const isOwned = ownerId === undefined ? sql`true` : sql`${sql.ref(column.key[0] as string)} = ${ownerId}`;
  const rows = sql`${sql.table(column.table)} where ${isOwned} and ${rest}`;
  return sql<Row>`select * from ${rows} order by ${key} limit ${pageSize}`.compile(build);
}

/** The values of the primary key. */
export function keyOf({ key }: EncryptedColumn, row: Row): KeyValue[] {
  return key.map((name) => row[name] as KeyValue);
}
