// The fast path: inserts a batch of notifications, with their dispatches, idempotency keys and messages for queues of the
// embedded broker, in one statement.
import type { PoolClient } from 'pg';
import type { PlainNotification } from '../schema/database.ts';
import { encrypt } from '../vault/cipher.ts';
import type { Result, RowToAppend } from './append-queue.ts';

/**
 * One statement is one transaction and one round trip. The rows of the owners are locked against deletion, so that a
 * concurrent deletion leaves no orphaned rows. Idempotency keys are claimed in sorted order, to avoid deadlocks between
 * batches with the same keys. Returns the notifications that were not stored, and the messages that were not queued.
 */
const appendSql = `
WITH batch AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::text[], $6::bigint[], $7::text[],
    $8::text[], $9::bigint[], $10::text[])
  AS row (owner_id, id, created_at, sealed, targets, lease_until, key_digest, fingerprint, expires_at, results)
), messages AS MATERIALIZED (
  SELECT * FROM unnest($11::text[], $12::text[], $13::text[], $14::text[], $15::integer[], $16::integer[])
  AS message (owner_id, notification_id, device_id, client_id, qos, index)
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
), queued AS (
  INSERT INTO mqtt_waiting (owner_id, device_id, client_id, notification_id, qos, state)
  SELECT owner_id, device_id, client_id, notification_id, qos, 'publish' FROM messages
  WHERE notification_id IN (SELECT id FROM stored) AND CASE client_id
    WHEN '' THEN EXISTS (SELECT 1 FROM devices WHERE devices.owner_id = messages.owner_id AND devices.id = device_id)
    ELSE EXISTS (SELECT 1 FROM mqtt_sessions AS session WHERE session.owner_id = messages.owner_id
      AND session.device_id = messages.device_id AND session.client_id = messages.client_id)
  END
  RETURNING notification_id, device_id, client_id
), unqueued AS MATERIALIZED (
  SELECT notification_id, index FROM messages WHERE notification_id IN (SELECT id FROM stored)
  AND (notification_id, device_id, client_id) NOT IN (SELECT notification_id, device_id, client_id FROM queued)
), dispatched AS (
  INSERT INTO dispatches (owner_id, notification_id, targets, results, lease_until)
  SELECT owner_id, id, targets, CASE WHEN settled THEN results END, CASE WHEN NOT settled THEN lease_until END
  FROM (
    SELECT *, results IS NOT NULL AND id NOT IN (SELECT notification_id FROM unqueued) AS settled FROM batch
  ) AS dispatch
  WHERE targets IS NOT NULL AND id IN (SELECT id FROM stored)
)
SELECT id, owner_id IN (SELECT id FROM living) AS "hasOwner", NULL::integer AS message FROM batch
WHERE id NOT IN (SELECT id FROM stored)
UNION ALL SELECT notification_id, true, index FROM unqueued`;

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
  const batch = all.filter(isFirst);
  const { rows: exceptions } = await client.query<{ id: string; hasOwner: boolean; message: number | null }>({
    name: 'append',
    text: appendSql,
    values: [...toColumns(batch), ...toMessageColumns(batch)],
  });
  const results = new Map<string, Result>();
  for (const { id, hasOwner, message } of exceptions) {
    if (message === null) results.set(id, hasOwner ? 'duplicate' : 'orphan');
    else results.set(id, { notQueued: [...notQueuedOf(results.get(id)), message] });
  }
  return all.map((each) => {
    if (isFirst(each)) return results.get(each.row.id) ?? 'appended';
    const first = results.get(firstOfKey.get(idempotencyName(each.row) ?? '') ?? '');
    return first === 'orphan' ? first : 'duplicate';
  });
}

function notQueuedOf(result: Result | undefined): readonly number[] {
  return typeof result === 'object' ? result.notQueued : [];
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
    batch.map(({ row }) => row.resultsIfQueued),
  ];
}

function toMessageColumns(batch: readonly RowToAppend[]): unknown[][] {
  const messages = batch.flatMap(({ row: { ownerId, id, messages } }) =>
    messages.map((message, index) => ({ ownerId, id, ...message, index })),
  );
  return [
    messages.map(({ ownerId }) => ownerId),
    messages.map(({ id }) => id),
    messages.map(({ deviceId }) => deviceId),
    messages.map(({ clientId }) => clientId),
    messages.map(({ qos }) => qos),
    messages.map(({ index }) => index),
  ];
}
