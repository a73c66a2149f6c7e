// The statement that inserts a batch of notifications. It has only the parts that a batch needs: the more parts, the longer
// the server takes to plan and to start it, whether they have rows or not.
import type { QueuedMessage } from '../../core/reservation.ts';
import type { PlainNotification } from '../schema/database.ts';
import { type Element, type ElementType, toBinaryArray } from './binary-array.ts';

export interface Parts {
  hasDispatches: boolean;
  hasIdempotencyKeys: boolean;
  hasMessages: boolean;
  hasOriginals: boolean;
}

export interface SealedNotification extends PlainNotification {
  sealed: Uint8Array;
  sealedOriginal: Uint8Array | null;
}

/** A message of a notification; `row` and `queue` count from 1, and `index` among the messages of its notification. */
interface Message {
  row: number;
  queue: number;
  qos: number;
  index: number;
}

interface Queue {
  ownerId: string;
  deviceId: string;
  clientId: string;
}

type Column<Row> = [name: string, type: ElementType, read: (row: Row) => Element];

const ownerColumns: Column<string>[] = [['id', 'text', (id) => id]];
const rowColumns: Column<SealedNotification>[] = [
  ['owner_id', 'text', ({ ownerId }) => ownerId],
  ['id', 'text', ({ id }) => id],
  ['created_at', 'bigint', ({ createdAt }) => createdAt],
  ['sealed', 'bytea', ({ sealed }) => sealed],
];
const leaseColumns: Column<SealedNotification>[] = [['lease_until', 'bigint', ({ leaseUntil }) => leaseUntil]];
const dispatchColumns: Column<SealedNotification>[] = [
  ['targets', 'text', ({ dispatch }) => dispatch],
  ['results', 'text', ({ resultsIfQueued }) => resultsIfQueued],
];
const idempotencyColumns: Column<SealedNotification>[] = [
  ['key_digest', 'text', ({ idempotency }) => idempotency?.keyDigest ?? null],
  ['fingerprint', 'text', ({ idempotency }) => idempotency?.fingerprint ?? null],
  ['expires_at', 'bigint', ({ idempotency }) => idempotency?.expiresAt ?? null],
];
const originalColumns: Column<SealedNotification>[] = [['original', 'bytea', ({ sealedOriginal }) => sealedOriginal]];
const queueColumns: Column<Queue>[] = [
  ['owner_id', 'text', ({ ownerId }) => ownerId],
  ['device_id', 'text', ({ deviceId }) => deviceId],
  ['client_id', 'text', ({ clientId }) => clientId],
];
const messageColumns: Column<Message>[] = [
  ['row', 'integer', ({ row }) => row],
  ['queue', 'integer', ({ queue }) => queue],
  ['qos', 'integer', ({ qos }) => qos],
  ['index', 'integer', ({ index }) => index],
];

function batchColumns({ hasDispatches, hasIdempotencyKeys, hasOriginals }: Parts): Column<SealedNotification>[] {
  return [
    ...rowColumns,
    ...(hasDispatches || hasIdempotencyKeys ? leaseColumns : []),
    ...(hasDispatches ? dispatchColumns : []),
    ...(hasIdempotencyKeys ? idempotencyColumns : []),
    ...(hasOriginals ? originalColumns : []),
  ];
}

/** Parameters for the statement of `appendSql` with the same parts. */
export function appendParameters(parts: Parts, batch: readonly SealedNotification[]): Buffer[] {
  const ownerIds = [...new Set(batch.map(({ ownerId }) => ownerId))];
  return [
    ...toParameters(ownerColumns, ownerIds),
    ...toParameters(batchColumns(parts), batch),
    ...(parts.hasMessages ? messageParameters(batch) : []),
  ];
}

function messageParameters(batch: readonly SealedNotification[]): Buffer[] {
  const queues = new Map<string, { queue: Queue; number: number }>();
  const numberOf = (queue: Queue): number => {
    const name = `${queue.ownerId}\n${queue.deviceId}\n${queue.clientId}`;
    const known = queues.get(name) ?? { queue, number: queues.size + 1 };
    queues.set(name, known);
    return known.number;
  };
  const messages = batch.flatMap(({ ownerId, messages: own }, row) =>
    own.map(({ deviceId, clientId, qos }: QueuedMessage, index) => ({
      ...{ row: row + 1, queue: numberOf({ ownerId, deviceId, clientId }), qos, index },
    })),
  );
  return [
    ...toParameters(
      queueColumns,
      [...queues.values()].map(({ queue }) => queue),
    ),
    ...toParameters(messageColumns, messages),
  ];
}

function toParameters<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Buffer[] {
  return columns.map(([, type, read]) => toBinaryArray(type, rows.map(read)));
}

/**
 * One statement is one transaction and one round trip. The rows of the owners are locked against deletion, so that a
 * concurrent deletion leaves no orphaned rows. Idempotency keys are claimed in sorted order, to avoid deadlocks between
 * batches with the same keys. Returns the rows of the batch, counted from 1, that were not stored, and the messages that
 * were not queued.
 */
export function appendSql(parts: Parts): string {
  const { hasDispatches, hasIdempotencyKeys, hasMessages, hasOriginals } = parts;
  let parameters = 0;
  const unnest = (columns: readonly Column<never>[]): string =>
    `unnest(${columns.map(([, type]) => `$${++parameters}::${type}[]`).join(', ')})`;
  const names = (columns: readonly Column<never>[]): string => columns.map(([name]) => name).join(', ');
  const steps = [
    `living AS MATERIALIZED (
      SELECT id FROM owners WHERE id = ANY ($${++parameters}::text[]) ORDER BY id FOR KEY SHARE
    )`,
    `batch AS MATERIALIZED (
      SELECT * FROM ${unnest(batchColumns(parts))} WITH ORDINALITY AS row (${names(batchColumns(parts))}, number)
    )`,
    ...(hasIdempotencyKeys ? [claimed] : []),
    `accepted AS MATERIALIZED (
      SELECT * FROM batch WHERE owner_id IN (SELECT id FROM living)
      ${hasIdempotencyKeys ? 'AND (key_digest IS NULL OR id IN (SELECT notification_id FROM claimed))' : ''}
    )`,
    `stored AS (
      INSERT INTO notifications (${names(rowColumns)}) SELECT ${names(rowColumns)} FROM accepted
    )`,
    ...(hasOriginals ? [kept] : []),
    ...(hasMessages
      ? [
          `queues AS MATERIALIZED (
            SELECT * FROM ${unnest(queueColumns)} WITH ORDINALITY AS queue (${names(queueColumns)}, number)
            WHERE CASE client_id
              WHEN '' THEN EXISTS (SELECT 1 FROM devices WHERE devices.owner_id = queue.owner_id AND id = device_id)
              ELSE EXISTS (SELECT 1 FROM mqtt_sessions AS session WHERE session.owner_id = queue.owner_id
                AND session.device_id = queue.device_id AND session.client_id = queue.client_id)
            END
          )`,
          `messages AS MATERIALIZED (
            SELECT accepted.number, id, queue, qos, index
            FROM ${unnest(messageColumns)} AS message (${names(messageColumns)}) JOIN accepted ON accepted.number = row
          )`,
          queued,
          unqueued,
        ]
      : []),
    ...(hasDispatches ? [hasMessages ? dispatchedUnlessUnqueued : dispatched] : []),
  ];
  return `WITH ${steps.join(', ')}
    SELECT number::integer, owner_id IN (SELECT id FROM living) AS "hasOwner", NULL::integer AS message FROM batch
    WHERE number NOT IN (SELECT number FROM accepted)
    ${hasMessages ? 'UNION ALL SELECT number::integer, true, index FROM unqueued' : ''}`;
}

const claimed = `claimed AS (
  INSERT INTO idempotency (owner_id, key_digest, fingerprint, notification_id, lease_until, expires_at)
  SELECT owner_id, key_digest, fingerprint, id, lease_until, expires_at FROM batch
  WHERE key_digest IS NOT NULL AND owner_id IN (SELECT id FROM living)
  ORDER BY owner_id, key_digest
  ON CONFLICT (owner_id, key_digest) DO UPDATE SET fingerprint = excluded.fingerprint, sealed = NULL,
    notification_id = excluded.notification_id, lease_until = excluded.lease_until, expires_at = excluded.expires_at
  WHERE idempotency.expires_at <= (SELECT created_at FROM batch WHERE batch.id = excluded.notification_id)
  RETURNING notification_id
)`;

const kept = `kept AS (
  INSERT INTO originals (owner_id, notification_id, sealed)
  SELECT owner_id, id, original FROM accepted WHERE original IS NOT NULL
)`;

const queued = `queued AS (
  INSERT INTO mqtt_waiting (owner_id, device_id, client_id, notification_id, qos, state)
  SELECT owner_id, device_id, client_id, id, qos, 'publish' FROM messages JOIN queues ON queues.number = queue
)`;

const unqueued = `unqueued AS MATERIALIZED (
  SELECT number, index FROM messages WHERE queue NOT IN (SELECT number FROM queues)
)`;

const dispatched = `dispatched AS (
  INSERT INTO dispatches (owner_id, notification_id, targets, results, lease_until)
  SELECT owner_id, id, targets, results, CASE WHEN results IS NULL THEN lease_until END FROM accepted
  WHERE targets IS NOT NULL
)`;

/** A dispatch is settled if all its messages are queued. */
const dispatchedUnlessUnqueued = `dispatched AS (
  INSERT INTO dispatches (owner_id, notification_id, targets, results, lease_until)
  SELECT owner_id, id, targets, CASE WHEN settled THEN results END, CASE WHEN NOT settled THEN lease_until END
  FROM (
    SELECT *, results IS NOT NULL AND number NOT IN (SELECT number FROM unqueued) AS settled FROM accepted
  ) AS dispatch
  WHERE targets IS NOT NULL
)`;
