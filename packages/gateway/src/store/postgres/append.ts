// The fast path: inserts a batch of notifications, with their dispatches and idempotency keys, in one statement.
import type { PoolClient } from 'pg';
import type { PlainNotification } from '../schema/database.ts';
import { encrypt } from '../vault/cipher.ts';
import type { Result, RowToAppend } from './append-queue.ts';

/**
 * One statement is one transaction and one round trip. The rows of the owners are locked against deletion, so that a
 * concurrent deletion leaves no orphaned rows. Idempotency keys are claimed in sorted order, to avoid deadlocks between
 * batches with the same keys. Returns the notifications that were not stored.
 */
const appendSql = `
WITH batch AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::text[], $6::bigint[], $7::text[],
    $8::text[], $9::bigint[])
  AS row (owner_id, id, created_at, sealed, targets, lease_until, key_digest, fingerprint, expires_at)
), living AS MATERIALIZED (
  SELECT id FROM owners WHERE id IN (SELECT owner_id FROM batch) ORDER BY id FOR KEY SHARE
), claimed AS (
  INSERT INTO idempotency (owner_id, key_digest, fingerprint, notification_id, lease_until, expires_at)
  SELECT owner_id, key_digest, fingerprint, id, lease_until, expires_at FROM batch
  WHERE key_digest IS NOT NULL AND owner_id IN (SELECT id FROM living)
  ORDER BY owner_id, key_digest
  ON CONFLICT (owner_id, key_digest) DO UPDATE SET fingerprint = excluded.fingerprint, sealed = NULL,
    notification_id = excluded.notification_id, lease_until = excluded.lease_until, expires_at = excluded.expires_at
  WHERE idempotency.expires_at <= (SELECT created_at FROM batch WHERE batch.id = excluded.notification_id)
  RETURNING notification_id
), stored AS (
  INSERT INTO notifications (owner_id, id, created_at, sealed)
  SELECT owner_id, id, created_at, sealed FROM batch
  WHERE owner_id IN (SELECT id FROM living) AND (key_digest IS NULL OR id IN (SELECT notification_id FROM claimed))
  RETURNING id
), dispatched AS (
  INSERT INTO dispatches (owner_id, notification_id, targets, lease_until)
  SELECT owner_id, id, targets, lease_until FROM batch
  WHERE targets IS NOT NULL AND id IN (SELECT id FROM stored)
)
SELECT id, owner_id IN (SELECT id FROM living) AS "hasOwner" FROM batch WHERE id NOT IN (SELECT id FROM stored)`;

export async function appendRows(client: PoolClient, all: readonly RowToAppend[]): Promise<Result[]> {
  const firstOfKey = new Map<string, string>();
  for (const { row } of all) {
    const name = idempotencyName(row);
    if (name !== null && !firstOfKey.has(name)) firstOfKey.set(name, row.id);
  }
  // A statement cannot claim a key twice; the second request with a key in a batch is a duplicate.
  const isFirst = ({ row }: RowToAppend): boolean => {
    const name = idempotencyName(row);
    return name === null || firstOfKey.get(name) === row.id;
  };
  const { rows: refused } = await client.query<{ id: string; hasOwner: boolean }>({
    name: 'append',
    text: appendSql,
    values: toColumns(all.filter(isFirst)),
  });
  const results = new Map(
    refused.map(({ id, hasOwner }) => [id, hasOwner ? ('duplicate' as const) : ('orphan' as const)]),
  );
  return all.map((each) => {
    if (isFirst(each)) return results.get(each.row.id) ?? 'appended';
    return results.get(firstOfKey.get(idempotencyName(each.row) ?? '') ?? '') ?? 'duplicate';
  });
}

function idempotencyName({ ownerId, idempotency }: PlainNotification): string | null {
  return idempotency === null ? null : `${ownerId}\n${idempotency.keyDigest}`;
}

function toColumns(batch: readonly RowToAppend[]): unknown[][] {
  return [
    batch.map(({ row }) => row.ownerId),
    batch.map(({ row }) => row.id),
    batch.map(({ row }) => row.createdAt),
    batch.map(({ row: { ownerId, id, content }, key }) =>
      encrypt(key, { table: 'notifications', ownerId, rowId: id, column: 'sealed' }, content),
    ),
    batch.map(({ row }) => row.dispatch),
    batch.map(({ row }) => row.leaseUntil),
    batch.map(({ row }) => row.idempotency?.keyDigest ?? null),
    batch.map(({ row }) => row.idempotency?.fingerprint ?? null),
    batch.map(({ row }) => row.idempotency?.expiresAt ?? null),
  ];
}
