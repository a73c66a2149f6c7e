// What the embedded broker keeps for devices: the sessions of their clients, and the messages that wait for them.
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

/** A session that an MQTT client of a device keeps with the embedded broker while it is away. */
export type MqttSessionName = MqttQueueName;

export interface MqttSession extends MqttSessionName {
  subscriptions: readonly MqttSubscription[];
  seenAt: number;
}

/** A message in a queue; its text stays in the encrypted row of the notification. */
export interface MqttWaiting {
  notificationId: string;
  qos: Qos;
  /** With QoS 2, once it was sent. */
  messageId: number | null;
  /** `pubrel` once the client has sent PUBREC for a QoS 2 message. */
  state: 'publish' | 'pubrel';
}

/** A message that left its queue because a client of the device has it. */
export interface MqttReceipt {
  notificationId: string;
  /** When the client acknowledged it; with QoS 0, when it was written to the client's socket. */
  deliveredAt: number;
  qos: Qos;
}

/** How far a notification got with one device of the embedded broker. */
export type MqttProgress = { state: 'queued' } | { state: 'delivered'; deliveredAt: number; qos: Qos };

export interface MqttSessionStore {
  listMqttSessions(): Promise<MqttSession[]>;
  /** Creates it or replaces its subscriptions. */
  saveMqttSession(session: MqttSession): Promise<void>;
  touchMqttSessions(sessions: readonly MqttSessionName[], at: number): Promise<void>;
  /** What waits for it moves to the queue of its device, unless a client of the device has it already; returns how many. */
  deleteMqttSession(session: MqttSessionName): Promise<number>;
  /** Returns how many were added: none to the queue of a session or device that is not there, nor one that waits already. */
  enqueueMqtt(
    messages: readonly { queue: MqttQueueName; notificationId: string; qos: Qos }[],
  ): Promise<readonly boolean[]>;
  /** In the order of the notifications, behind the notification `after`. */
  listMqttWaiting(queue: MqttQueueName, page: { limit: number; after?: string }): Promise<MqttWaiting[]>;
  /** Those that have a message id, in the order of the notifications. */
  listMqttInFlight(queue: MqttQueueName): Promise<MqttWaiting[]>;
  /** The length of every queue that is not empty. */
  countMqttWaiting(): Promise<(MqttQueueName & { length: number })[]>;
  updateMqttWaiting(
    queue: MqttQueueName,
    messages: readonly Pick<MqttWaiting, 'notificationId' | 'messageId' | 'state'>[],
  ): Promise<void>;
  /** Removes what the client has, and keeps a receipt of each; returns how many were removed. */
  confirmMqttWaiting(queue: MqttQueueName, receipts: readonly MqttReceipt[]): Promise<number>;
  /** Removes without a receipt; returns how many. */
  removeMqttWaiting(queue: MqttQueueName, notificationIds: readonly string[]): Promise<number>;
  /** Removes, and keeps each as a dead delivery to the device, which its owner can send again. */
  deadLetterMqttWaiting(
    queue: MqttQueueName,
    messages: readonly Pick<MqttWaiting, 'notificationId' | 'qos'>[],
    failure: { error: string; at: number },
  ): Promise<void>;
  /** Moves what waits from one queue of a device to another, but for what a client of the device has already. */
  moveMqttWaiting(from: MqttQueueName, to: MqttQueueName): Promise<{ copied: number; removed: number }>;
  /** Deletes sessions last seen before, as `deleteMqttSession` does, and those whose device is gone; returns how many. */
  purgeMqttSessions(before: number): Promise<number>;
  /** Deletes what waits although its notification was deleted; returns how many. */
  purgeMqttWaiting(): Promise<number>;
  /** How far a notification got with devices, by device id. Devices of which nothing is known are missing. */
  findMqttProgress(
    ownerId: string,
    notificationId: string,
    deviceIds: readonly string[],
  ): Promise<Map<string, MqttProgress>>;
}
