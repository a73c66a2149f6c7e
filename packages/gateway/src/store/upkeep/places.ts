// Every column that holds sealed values, with what opens it and the place its values are bound to.
import { type CompiledQuery, sql } from 'kysely';
import { installationRow } from '../copy/installation.ts';
import { deliveryPlace } from '../repositories/delivery-rows.ts';
import { idempotencyPlace } from '../repositories/idempotency.ts';
import { copyMarker } from '../schema/copy-marker.ts';
import type { Database } from '../schema/database.ts';
import { legacyRow } from '../schema/legacy-installation.ts';
import { isFactRow } from '../schema/meta.ts';
import type { Tables } from '../schema/tables.ts';
import type { Place } from '../vault/cipher.ts';
import { placeOf } from '../vault/encrypted-columns.ts';
import { wrappedPlace } from '../vault/keyring.ts';
import { isRetiredKeyRow } from '../vault/retired-keys.ts';
import { nodePlace } from '../vault/row-versions.ts';
import { secretPlace } from '../vault/secrets.ts';

export type KeyValue = string | number;
export type Row = Record<string, unknown>;

const pageSize = 500;

export interface SealedColumn {
  table: keyof Tables;
  column: string;
  /** The columns of the primary key. */
  key: readonly string[];
  sealedBy: 'master key' | 'data key';
  /** From the values of the primary key. */
  placeOf(key: readonly KeyValue[]): Place;
}

type KeyedById =
  | 'api_keys'
  | 'devices'
  | 'push_targets'
  | 'notifications'
  | 'sessions'
  | 'passkeys'
  | 'oidc_identities';

const ofOwner = (table: KeyedById): Omit<SealedColumn, 'sealedBy'> => ({
  table,
  column: 'sealed',
  key: ['owner_id', 'id'],
  placeOf: ([ownerId, id]) => placeOf(table, { owner_id: String(ownerId), id: String(id) }),
});

export const sealedColumns: readonly SealedColumn[] = [
  {
    table: 'meta',
    column: 'value',
    key: ['name'],
    sealedBy: 'master key',
    placeOf: ([name]) => secretPlace(String(name)),
  },
  {
    table: 'data_keys',
    column: 'wrapped',
    key: ['owner_id', 'version'],
    sealedBy: 'master key',
    placeOf: ([ownerId, version]) => wrappedPlace(String(ownerId), Number(version)),
  },
  { ...ofOwner('api_keys'), sealedBy: 'master key' },
  {
    table: 'row_versions',
    column: 'sealed',
    key: ['id'],
    sealedBy: 'master key',
    placeOf: ([id]) => nodePlace(String(id)),
  },
  {
    table: 'owners',
    column: 'sealed',
    key: ['id'],
    sealedBy: 'data key',
    placeOf: ([id]) => placeOf('owners', { owner_id: String(id), id: String(id) }),
  },
  { ...ofOwner('devices'), sealedBy: 'data key' },
  { ...ofOwner('push_targets'), sealedBy: 'data key' },
  { ...ofOwner('notifications'), sealedBy: 'data key' },
  {
    table: 'deliveries',
    column: 'sealed',
    key: ['owner_id', 'notification_id', 'channel', 'target'],
    sealedBy: 'data key',
    placeOf: ([ownerId, ...key]) => deliveryPlace(String(ownerId), key.map(String)),
  },
  {
    table: 'idempotency',
    column: 'sealed',
    key: ['owner_id', 'key_digest'],
    sealedBy: 'data key',
    placeOf: ([ownerId, digest]) => idempotencyPlace(String(ownerId), String(digest)),
  },
  { ...ofOwner('sessions'), sealedBy: 'data key' },
  {
    table: 'one_time_links',
    column: 'sealed',
    key: ['owner_id', 'token_digest'],
    sealedBy: 'data key',
    placeOf: ([ownerId, digest]) => placeOf('one_time_links', { owner_id: String(ownerId), id: String(digest) }),
  },
  { ...ofOwner('passkeys'), sealedBy: 'data key' },
  { ...ofOwner('oidc_identities'), sealedBy: 'data key' },
];

/** Of a row in `meta`: facts that are no secrets. */
export function isInTheClear(name: string): boolean {
  if (name === copyMarker || name === installationRow || name === legacyRow) return true;
  return isRetiredKeyRow(name) || isFactRow(name);
}

/** Every row of the table with that column, in the order of its key; of one owner, whose id comes first in the key, if given. */
export async function* rowsOf(database: Database, column: SealedColumn, ownerId?: string): AsyncGenerator<Row> {
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
  column: SealedColumn,
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
export function keyOf({ key }: SealedColumn, row: Row): KeyValue[] {
  return key.map((name) => row[name] as KeyValue);
}
