import type { Qos } from '@tocsin/contract';
import { type SqlBool, sql } from 'kysely';
import type {
  MqttSession,
  MqttSessionName,
  MqttSessionStore,
  MqttSubscription,
  MqttWaiting,
} from '../gateway/ports.ts';
import type { Database } from './database.ts';
import type { Tables } from './tables.ts';

type Name = { owner_id: string; device_id: string; client_id: string };

export function createMqttSessionStore(database: Database): MqttSessionStore {
  const { build } = database;

  const waitingOf = (session: MqttSessionName) =>
    build
      .selectFrom('mqtt_waiting')
      .select(['notification_id', 'qos', 'message_id', 'state'])
      .where(isOf(session))
      .orderBy('notification_id');

  // Built once: it runs for every message, and building it costs more than running it. Nothing waits for a session that
  // another process has deleted in the meantime.
  const enqueueOne = build
    .insertInto('mqtt_waiting')
    .columns(['owner_id', 'device_id', 'client_id', 'notification_id', 'qos', 'state'])
    .expression(
      build
        .selectFrom('mqtt_sessions')
        .select([
          'owner_id',
          'device_id',
          'client_id',
          sql<string>`${''}`.as('notification_id'),
          sql<number>`${0}`.as('qos'),
          sql<string>`'publish'`.as('state'),
        ])
        .where(isOf({ ownerId: '', deviceId: '', clientId: '' })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .compile();

  return {
    async listMqttSessions() {
      const rows = await database.read(build.selectFrom('mqtt_sessions').selectAll().compile());
      return rows.map(toSession);
    },

    async saveMqttSession({ subscriptions, seenAt, ...session }) {
      const values = { subscriptions: JSON.stringify(subscriptions), updated_at: seenAt };
      await database.write([
        build
          .insertInto('mqtt_sessions')
          .values({ ...toName(session), ...values })
          .onConflict((conflict) => conflict.columns(['owner_id', 'device_id', 'client_id']).doUpdateSet(values))
          .compile(),
      ]);
    },

    async touchMqttSessions(sessions, at) {
      if (sessions.length === 0) return;
      const touch = build.updateTable('mqtt_sessions').set({ updated_at: at });
      await database.write(sessions.map((session) => touch.where(isOf(session)).compile()));
    },

    async deleteMqttSession(session) {
      await database.write([
        build.deleteFrom('mqtt_waiting').where(isOf(session)).compile(),
        build.deleteFrom('mqtt_sessions').where(isOf(session)).compile(),
      ]);
    },

    async enqueueMqtt(messages) {
      if (messages.length === 0) return;
      await database.write(
        messages.map(({ session: { ownerId, deviceId, clientId }, notificationId, qos }) => ({
          ...enqueueOne,
          parameters: [notificationId, qos, ownerId, deviceId, clientId],
        })),
      );
    },

    async listMqttWaiting(session, limit) {
      return (await database.read(waitingOf(session).limit(limit).compile())).map(toWaiting);
    },

    async listMqttInFlight(session) {
      return (await database.read(waitingOf(session).where('message_id', 'is not', null).compile())).map(toWaiting);
    },

    async updateMqttWaiting(session, messages) {
      if (messages.length === 0) return;
      const update = ({ notificationId, messageId, state }: (typeof messages)[number]) =>
        build
          .updateTable('mqtt_waiting')
          .set({ message_id: messageId, state })
          .where(isOf(session))
          .where('notification_id', '=', notificationId)
          .compile();
      await database.write(messages.map(update));
    },

    async removeMqttWaiting(session, notificationIds) {
      if (notificationIds.length === 0) return;
      const remove = build.deleteFrom('mqtt_waiting').where(isOf(session));
      await database.write([remove.where('notification_id', 'in', notificationIds).compile()]);
    },

    async trimMqttWaiting(session, keep) {
      const newestToGo = build
        .selectFrom('mqtt_waiting')
        .select('notification_id')
        .where(isOf(session))
        .orderBy('notification_id', 'desc')
        .limit(1)
        .offset(keep);
      const trim = build.deleteFrom('mqtt_waiting').where(isOf(session)).where('notification_id', '<=', newestToGo);
      await database.write([trim.compile()]);
    },

    async purgeMqttSessions(before) {
      const [sessions] = await database.write([
        build
          .deleteFrom('mqtt_sessions')
          .where((eb) =>
            eb.or([
              eb('updated_at', '<', before),
              eb.not(
                eb.exists(
                  eb
                    .selectFrom('devices')
                    .select('devices.id')
                    .whereRef('devices.owner_id', '=', 'mqtt_sessions.owner_id')
                    .whereRef('devices.id', '=', 'mqtt_sessions.device_id'),
                ),
              ),
            ]),
          )
          .compile(),
        build
          .deleteFrom('mqtt_waiting')
          .where((eb) =>
            eb.not(
              eb.exists(
                eb
                  .selectFrom('mqtt_sessions')
                  .select('mqtt_sessions.client_id')
                  .whereRef('mqtt_sessions.owner_id', '=', 'mqtt_waiting.owner_id')
                  .whereRef('mqtt_sessions.device_id', '=', 'mqtt_waiting.device_id')
                  .whereRef('mqtt_sessions.client_id', '=', 'mqtt_waiting.client_id'),
              ),
            ),
          )
          .compile(),
      ]);
      return sessions?.changes ?? 0;
    },
  };
}

/** The same columns in both tables. */
function isOf({ ownerId, deviceId, clientId }: MqttSessionName) {
  return sql<SqlBool>`(owner_id = ${ownerId} and device_id = ${deviceId} and client_id = ${clientId})`;
}

function toName({ ownerId, deviceId, clientId }: MqttSessionName): Name {
  return { owner_id: ownerId, device_id: deviceId, client_id: clientId };
}

function toSession(row: Tables['mqtt_sessions']): MqttSession {
  return {
    ownerId: row.owner_id,
    deviceId: row.device_id,
    clientId: row.client_id,
    subscriptions: JSON.parse(row.subscriptions) as MqttSubscription[],
    seenAt: row.updated_at,
  };
}

type WaitingColumns = 'notification_id' | 'qos' | 'message_id' | 'state';

function toWaiting(row: Pick<Tables['mqtt_waiting'], WaitingColumns>): MqttWaiting {
  return {
    notificationId: row.notification_id,
    qos: row.qos as Exclude<Qos, 0>,
    messageId: row.message_id,
    state: row.state as MqttWaiting['state'],
  };
}
