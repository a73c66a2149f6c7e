// Every column that holds sealed values, with what opens it and the place its values are bound to.
import type { Place } from './cipher.ts';
import { copyMarker } from './copy-marker.ts';
import { deliveryPlace } from './deliveries.ts';
import { isFactRow } from './facts.ts';
import { idempotencyPlace } from './idempotency.ts';
import { installationRow } from './installation.ts';
import { wrappedPlace } from './keyring.ts';
import { legacyRow } from './legacy-installation.ts';
import { isRetiredKeyRow } from './retired-keys.ts';
import { placeOf } from './sealed-columns.ts';
import { secretPlace } from './secrets.ts';
import type { Tables } from './tables.ts';

export type KeyValue = string | number;

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
