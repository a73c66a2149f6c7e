// Persistent sessions of the embedded broker, and the messages queued for them.
import type { Qos } from '@tocsin/contract';

export interface MqttSubscription {
  filter: string;
  qos: Qos;
}

/** The queue of one MQTT client of a device; with an empty client id the queue of the device itself. */
export interface MqttQueueName {
  ownerId: string;
  deviceId: string;
  clientId: string;
}

/** A persistent session of an MQTT client of a device at the embedded broker. */
export type MqttSessionName = MqttQueueName;

export interface MqttSession extends MqttSessionName {
  subscriptions: readonly MqttSubscription[];
  seenAt: number;
}

/** A queued message; its payload is read from the encrypted row of the notification. */
export interface MqttWaiting {
  notificationId: string;
  qos: Qos;
  /** The MQTT packet identifier; set with QoS 2 once the message was sent. */
  messageId: number | null;
  /** `pubrel` once the client has sent PUBREC for a QoS 2 message. */
  state: 'publish' | 'pubrel';
}

/** A message that was removed from its queue because a client of the device received it. */
export interface MqttReceipt {
  notificationId: string;
  /** When the client acknowledged it; with QoS 0, when it was written to the client's socket. */
  deliveredAt: number;
  qos: Qos;
}

/** Delivery progress of a notification to one device of the embedded broker. */
export type MqttProgress = { state: 'queued' } | { state: 'delivered'; deliveredAt: number; qos: Qos };

export interface MqttSessionRepository {
  list(): Promise<MqttSession[]>;
  /** Creates the session or replaces its subscriptions. */
  save(session: MqttSession): Promise<void>;
  touch(sessions: readonly MqttSessionName[], at: number): Promise<void>;
  /** Moves queued messages to the queue of the device, except those a client of the device has; returns how many. */
  delete(session: MqttSessionName): Promise<number>;
  /** Deletes sessions last seen before `before`, as `delete` does, and those whose device was deleted; returns how many. */
  purge(before: number): Promise<number>;
}

/** Messages that wait for clients of the embedded broker, and receipts of those that were delivered. */
export interface MqttQueueRepository {
  /** Returns which messages were added: false if the session or device was deleted, or the message is queued already. */
  enqueue(messages: readonly { queue: MqttQueueName; notificationId: string; qos: Qos }[]): Promise<readonly boolean[]>;
  /** In the order of the notifications, after the notification `after`. */
  list(queue: MqttQueueName, page: { limit: number; after?: string }): Promise<MqttWaiting[]>;
  /** Messages that have a message id, in the order of the notifications. */
  listInFlight(queue: MqttQueueName): Promise<MqttWaiting[]>;
  /** The length of every queue that is not empty. */
  lengths(): Promise<(MqttQueueName & { length: number })[]>;
  update(
    queue: MqttQueueName,
    messages: readonly Pick<MqttWaiting, 'notificationId' | 'messageId' | 'state'>[],
  ): Promise<void>;
  /** Removes delivered messages and stores a receipt of each; returns how many were removed. */
  confirm(queue: MqttQueueName, receipts: readonly MqttReceipt[]): Promise<number>;
  /** Removes messages without a receipt; returns how many. */
  remove(queue: MqttQueueName, notificationIds: readonly string[]): Promise<number>;
  /** Replaces messages by dead deliveries to the device, which the owner can retry. */
  deadLetter(
    queue: MqttQueueName,
    messages: readonly Pick<MqttWaiting, 'notificationId' | 'qos'>[],
    failure: { error: string; at: number },
  ): Promise<void>;
  /** Moves messages from one queue of a device to another; those that a client of the device has are only removed. */
  move(from: MqttQueueName, to: MqttQueueName): Promise<{ copied: number; removed: number }>;
  /** Deletes messages whose notification was deleted; returns how many. */
  purge(): Promise<number>;
  /** Delivery progress of a notification by device id; devices that it was never queued for are missing. */
  findProgress(
    ownerId: string,
    notificationId: string,
    deviceIds: readonly string[],
  ): Promise<Map<string, MqttProgress>>;
}
