// Messages that wait for clients of the embedded broker. A queue belongs to a session, or, with an empty client id, to the
// device.
import type { Qos } from '@tocsin/contract';
import { type CompiledQuery, sql } from 'kysely';
import type {
  Delivery,
  MqttProgress,
  MqttQueueName,
  MqttQueueRepository,
  MqttReceipt,
  MqttWaiting,
} from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import type { DeliveryInserts } from './insert-deliveries.ts';
import { jsonElements } from './json-elements.ts';
import { fromName, isOf, moveMessages } from './mqtt-queue-rows.ts';
import { isOneOf } from './one-of.ts';

export function createMqttQueueRepository(
  database: Database,
  inserts: Pick<DeliveryInserts, 'dead'>,
): MqttQueueRepository {
  const { build, dialect } = database;

  const waitingIn = (queue: MqttQueueName) =>
    build
      .selectFrom('mqtt_waiting')
      .select(['notification_id', 'qos', 'message_id', 'state'])
      .where(isOf(queue))
      .orderBy('notification_id');

  // Compiled once, since these run for every message, and compiling costs more than running them. They insert nothing if
  // another process has deleted the session or device meanwhile.
  const enqueueFor = (from: 'mqtt_sessions' | 'devices') =>
    sql`insert into mqtt_waiting (owner_id, device_id, client_id, notification_id, qos, state)
      select owner_id, ${from === 'devices' ? sql`id, ''` : sql`device_id, client_id`}, ${''}, ${0}, 'publish'
      from ${sql.table(from)} where owner_id = ${''} and ${
        from === 'devices' ? sql`id = ${''}` : sql`device_id = ${''} and client_id = ${''}`
      } on conflict do nothing`.compile(build);
  const enqueueForSession = enqueueFor('mqtt_sessions');
  const enqueueForDevice = enqueueFor('devices');

  function enqueue({ ownerId, deviceId, clientId }: MqttQueueName, notificationId: string, qos: Qos): CompiledQuery {
    return clientId === ''
      ? { ...enqueueForDevice, parameters: [notificationId, qos, ownerId, deviceId] }
      : { ...enqueueForSession, parameters: [notificationId, qos, ownerId, deviceId, clientId] };
  }

  const remove = (queue: MqttQueueName, ids: readonly string[]): CompiledQuery =>
    build
      .deleteFrom('mqtt_waiting')
      .where(isOf(queue))
      .where(isOneOf(dialect, 'notification_id', ids))
      .compile();

  // One statement for any number of receipts: each prepared statement stays in memory.
  const insertReceipts = ({ ownerId, deviceId }: MqttQueueName, receipts: readonly MqttReceipt[]): CompiledQuery => {
    const rows = receipts.map(({ notificationId, deliveredAt, qos }) => [notificationId, deliveredAt, qos]);
    return sql`insert into mqtt_receipts (owner_id, device_id, notification_id, delivered_at, qos)
      select cast(${ownerId} as text), cast(${deviceId} as text), value ->> 0, cast(value ->> 1 as bigint),
        cast(value ->> 2 as integer)
      from ${jsonElements(dialect, rows)} where true on conflict do nothing`.compile(build);
  };

  return {
    async enqueue(messages) {
      if (messages.length === 0) return [];
      const added = await database.write(
        messages.map(({ queue, notificationId, qos }) => enqueue(queue, notificationId, qos)),
      );
      return added.map(({ changes }) => changes === 1);
    },

    async list(queue, { limit, after = '' }) {
      const query = waitingIn(queue).where('notification_id', '>', after).limit(limit);
      return (await database.read(query.compile())).map(toWaiting);
    },

    async listInFlight(queue) {
      return (await database.read(waitingIn(queue).where('message_id', 'is not', null).compile())).map(toWaiting);
    },

    async lengths() {
      const rows = await database.read(
        build
          .selectFrom('mqtt_waiting')
          .select((eb) => ['owner_id', 'device_id', 'client_id', eb.fn.countAll<number>().as('length')])
          .groupBy(['owner_id', 'device_id', 'client_id'])
          .compile(),
      );
      return rows.map((row) => ({ ...fromName(row), length: Number(row.length) }));
    },

    async update(queue, messages) {
      if (messages.length === 0) return;
      const update = ({ notificationId, messageId, state }: (typeof messages)[number]) =>
        build
          .updateTable('mqtt_waiting')
          .set({ message_id: messageId, state })
          .where(isOf(queue))
          .where('notification_id', '=', notificationId)
          .compile();
      await database.write(messages.map(update));
    },

    async confirm(queue, receipts) {
      const ids = receipts.map(({ notificationId }) => notificationId);
      if (ids.length === 0) return 0;
      return (await database.write([insertReceipts(queue, receipts), remove(queue, ids)])).at(-1)?.changes ?? 0;
    },

    async remove(queue, notificationIds) {
      if (notificationIds.length === 0) return 0;
      return (await database.write([remove(queue, notificationIds)]))[0]?.changes ?? 0;
    },

    async deadLetter(queue, messages, { error, at }) {
      const { ownerId, deviceId: target } = queue;
      const dead = messages.map(
        ({ notificationId, qos }): Delivery => ({
          ownerId,
          notificationId,
          channel: 'mqtt',
          target,
          state: 'dead',
          attempts: 0,
          qos,
          createdAt: at,
          nextAt: null,
          notBefore: at,
          expiresAt: at,
          endedAt: at,
          error,
        }),
      );
      const ids = messages.map(({ notificationId }) => notificationId);
      await database.write([...(await inserts.dead(dead)), remove(queue, ids)]);
    },

    async move(from, to) {
      const [copied, removed] = await database.write(moveMessages(database, from, to));
      return { copied: copied?.changes ?? 0, removed: removed?.changes ?? 0 };
    },

    async purge() {
      const [deleted] = await database.write([
        sql`delete from mqtt_waiting where not exists (
          select 1 from notifications where notifications.owner_id = mqtt_waiting.owner_id
          and notifications.id = mqtt_waiting.notification_id
        )`.compile(build),
      ]);
      return deleted?.changes ?? 0;
    },

    async findProgress(ownerId, notificationId, deviceIds) {
      if (deviceIds.length === 0) return new Map();
      const delivered = build
        .selectFrom('mqtt_receipts')
        .select(['device_id', 'delivered_at', 'qos'])
        .where('owner_id', '=', ownerId)
        .where('notification_id', '=', notificationId)
        .where(isOneOf(dialect, 'device_id', deviceIds));
      // By complete primary keys, one for each queue of a device, since a queue may be very long.
      const queued = sql<{ device_id: string }>`select device_id from mqtt_waiting
        where owner_id = ${ownerId} and ${isOneOf(dialect, 'device_id', deviceIds)} and client_id in (
          select client_id from mqtt_sessions where owner_id = ${ownerId} and ${isOneOf(dialect, 'device_id', deviceIds)}
          union select ''
        ) and notification_id = ${notificationId}`;
      const progress = new Map<string, MqttProgress>();
      for (const { device_id } of await database.read(queued.compile(build))) {
        progress.set(device_id, { state: 'queued' });
      }
      for (const { device_id, delivered_at, qos } of await database.read(delivered.compile())) {
        progress.set(device_id, { state: 'delivered', deliveredAt: delivered_at, qos: qos as Qos });
      }
      return progress;
    },
  };
}

type WaitingColumns = 'notification_id' | 'qos' | 'message_id' | 'state';

function toWaiting(row: Pick<Tables['mqtt_waiting'], WaitingColumns>): MqttWaiting {
  return {
    notificationId: row.notification_id,
    qos: row.qos as Qos,
    messageId: row.message_id,
    state: row.state as MqttWaiting['state'],
  };
}
