// Names of MQTT sessions and their queues as rows, and the statements that move messages between queues.
import { type CompiledQuery, type SqlBool, sql } from 'kysely';
import type { MqttQueueName } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';

export type MqttNameRow = { owner_id: string; device_id: string; client_id: string };

/** The columns of the name, in `mqtt_sessions` and in `mqtt_waiting`. */
export function isOf({ ownerId, deviceId, clientId }: MqttQueueName) {
  return sql<SqlBool>`(owner_id = ${ownerId} and device_id = ${deviceId} and client_id = ${clientId})`;
}

export function toName({ ownerId, deviceId, clientId }: MqttQueueName): MqttNameRow {
  return { owner_id: ownerId, device_id: deviceId, client_id: clientId };
}

export function fromName({ owner_id: ownerId, device_id: deviceId, client_id: clientId }: MqttNameRow): MqttQueueName {
  return { ownerId, deviceId, clientId };
}

/** Copies the messages that no client of the device has, then deletes all messages of the source. */
export function moveMessages(
  { build }: Pick<Database, 'build'>,
  from: MqttQueueName,
  { clientId }: Pick<MqttQueueName, 'clientId'>,
): CompiledQuery[] {
  return [
    sql`insert into mqtt_waiting (owner_id, device_id, client_id, notification_id, qos, state)
      select owner_id, device_id, cast(${clientId} as text), notification_id, qos, 'publish' from mqtt_waiting
      where ${isOf(from)} and state = 'publish' and not exists (
        select 1 from mqtt_receipts where mqtt_receipts.owner_id = mqtt_waiting.owner_id
        and mqtt_receipts.notification_id = mqtt_waiting.notification_id
        and mqtt_receipts.device_id = mqtt_waiting.device_id
      ) on conflict do nothing`.compile(build),
    build.deleteFrom('mqtt_waiting').where(isOf(from)).compile(),
  ];
}
