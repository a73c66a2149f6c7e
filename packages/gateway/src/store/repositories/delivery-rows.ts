// Rows of the table `deliveries`. The error of the last attempt is encrypted.
import type { Qos } from '@tocsin/contract';
import { sql } from 'kysely';
import { type ChannelName, DecryptionFailed, type Delivery, type TargetQueueName } from '../../usecases/ports/index.ts';
import type { Tables } from '../schema/tables.ts';
import { type CipherContext, encrypt } from '../vault/cipher.ts';
import type { Keyring } from '../vault/keyring.ts';

export type DeliveryRow = Tables['deliveries'];

type DeliveryKey = Pick<Delivery, keyof TargetQueueName | 'notificationId'>;

export interface DeliveryRows {
  toRow(delivery: Delivery): Promise<DeliveryRow>;
  toDelivery(row: DeliveryRow): Promise<Delivery>;
}

export function createDeliveryRows(keyring: Keyring): DeliveryRows {
  async function toRow(delivery: Delivery): Promise<DeliveryRow> {
    const { ownerId, error } = delivery;
    return {
      owner_id: ownerId,
      notification_id: delivery.notificationId,
      channel: delivery.channel,
      target: delivery.target,
      state: delivery.state,
      attempts: delivery.attempts,
      qos: delivery.qos,
      created_at: delivery.createdAt,
      next_at: delivery.nextAt,
      not_before: delivery.notBefore,
      expires_at: delivery.expiresAt,
      ended_at: delivery.endedAt,
      sealed: encrypt(await keyring.current(ownerId), contextOf(delivery), JSON.stringify({ error })),
    };
  }

  async function toDelivery(row: DeliveryRow): Promise<Delivery> {
    const delivery = {
      ownerId: row.owner_id,
      notificationId: row.notification_id,
      channel: row.channel as ChannelName,
      target: row.target,
      state: row.state as Delivery['state'],
      attempts: row.attempts,
      qos: row.qos as Qos,
      createdAt: row.created_at,
      nextAt: row.next_at,
      notBefore: row.not_before,
      expiresAt: row.expires_at,
      endedAt: row.ended_at,
    };
    return { ...delivery, error: await decryptError(delivery, row.sealed) };
  }

  /** An error that cannot be decrypted does not prevent the retry. */
  async function decryptError(delivery: Parameters<typeof contextOf>[0], sealed: Uint8Array): Promise<string> {
    try {
      const decrypted = await keyring.decrypt(contextOf(delivery), sealed);
      return (JSON.parse(decrypted.toString('utf8')) as { error: string }).error;
    } catch (error) {
      if (error instanceof DecryptionFailed) return 'The last error cannot be decrypted: its row was altered';
      throw error;
    }
  }

  return { toRow, toDelivery };
}

/** The columns of the queue's key, in `deliveries` and in `delivery_lanes`. */
export const isOfQueue = ({ ownerId, channel, target }: TargetQueueName) =>
  sql<boolean>`owner_id = ${ownerId} and channel = ${channel} and target = ${target}`;

export const isDelivery = (delivery: DeliveryKey) =>
  sql<boolean>`${isOfQueue(delivery)} and notification_id = ${delivery.notificationId}`;

export const mayBeAttempted = (now: number) => sql<boolean>`next_at is not null and not_before <= ${now}`;

function contextOf({ ownerId, notificationId, channel, target }: DeliveryKey): CipherContext {
  return deliveryContext(ownerId, [notificationId, channel, target]);
}

/** `key`: the primary key without the owner, in the order of its columns. */
export function deliveryContext(ownerId: string, key: readonly string[]): CipherContext {
  return { table: 'deliveries', ownerId, rowId: key.join('/'), column: 'sealed' };
}
