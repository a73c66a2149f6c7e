// Sessions of the embedded broker.
import { type CompiledQuery, type SqlBool, sql } from 'kysely';
import type {
  MqttQueueName,
  MqttSession,
  MqttSessionRepository,
  MqttSubscription,
} from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { fromName, isOf, type MqttNameRow, moveMessages, toName } from './mqtt-queue-rows.ts';

export function createMqttSessionRepository(database: Database): MqttSessionRepository {
  const { build } = database;

  const deleteSession = (session: MqttQueueName): CompiledQuery[] => [
    ...moveMessages(database, session, { clientId: '' }),
    build.deleteFrom('mqtt_sessions').where(isOf(session)).compile(),
  ];

  const sessionNames = build.selectFrom('mqtt_sessions').select(['owner_id', 'device_id', 'client_id']);
  const hasDevice = (table: 'mqtt_sessions' | 'mqtt_waiting') =>
    sql<SqlBool>`exists (select 1 from devices where devices.owner_id = ${sql.ref(`${table}.owner_id`)}
      and devices.id = ${sql.ref(`${table}.device_id`)})`;

  return {
    async list() {
      const rows = await database.read(build.selectFrom('mqtt_sessions').selectAll().compile());
      return rows.map(toSession);
    },

    async save({ subscriptions, seenAt, ...session }) {
      const values = { subscriptions: JSON.stringify(subscriptions), updated_at: seenAt };
      await database.write([
        build
          .insertInto('mqtt_sessions')
          .values({ ...toName(session), ...values })
          .onConflict((conflict) => conflict.columns(['owner_id', 'device_id', 'client_id']).doUpdateSet(values))
          .compile(),
      ]);
    },

    async touch(sessions, at) {
      if (sessions.length === 0) return;
      const touch = build.updateTable('mqtt_sessions').set({ updated_at: at });
      await database.write(sessions.map((session) => touch.where(isOf(session)).compile()));
    },

    async delete(session) {
      const [copied] = await database.write(deleteSession(session));
      return copied?.changes ?? 0;
    },

    async purge(before) {
      const stale = await database.read(
        sessionNames.where('updated_at', '<', before).where(hasDevice('mqtt_sessions')).compile(),
      );
      // Another process may have deleted a session while a message was being added to its queue.
      const orphaned = await database.read(
        sql<MqttNameRow>`select distinct owner_id, device_id, client_id from mqtt_waiting
          where client_id <> '' and not exists (
            select 1 from mqtt_sessions where mqtt_sessions.owner_id = mqtt_waiting.owner_id
            and mqtt_sessions.device_id = mqtt_waiting.device_id and mqtt_sessions.client_id = mqtt_waiting.client_id
          )`.compile(build),
      );
      const ended = [...stale, ...orphaned].flatMap((row) => deleteSession(fromName(row)));
      if (ended.length > 0) await database.write(ended);
      const [sessions] = await database.write([
        build
          .deleteFrom('mqtt_sessions')
          .where((eb) => eb.not(hasDevice('mqtt_sessions')))
          .compile(),
        build
          .deleteFrom('mqtt_waiting')
          .where((eb) => eb.not(hasDevice('mqtt_waiting')))
          .compile(),
      ]);
      return stale.length + (sessions?.changes ?? 0);
    },
  };
}

function toSession(row: Tables['mqtt_sessions']): MqttSession {
  return {
    ...fromName(row),
    subscriptions: JSON.parse(row.subscriptions) as MqttSubscription[],
    seenAt: row.updated_at,
  };
}
