// What the embedded broker keeps for devices that are away.
import type { Qos } from '@tocsin/contract';

export interface MqttSubscription {
  filter: string;
  qos: Qos;
}

/** A session that an MQTT client of a device keeps with the embedded broker while it is away. */
export interface MqttSessionName {
  ownerId: string;
  deviceId: string;
  clientId: string;
}

export interface MqttSession extends MqttSessionName {
  subscriptions: readonly MqttSubscription[];
  seenAt: number;
}

/** A message that such a session has not confirmed; its text stays in the sealed row of the notification. */
export interface MqttWaiting {
  notificationId: string;
  qos: Exclude<Qos, 0>;
  /** With QoS 2, once it was sent. */
  messageId: number | null;
  /** `pubrel` once the client has confirmed a QoS 2 message and is to be told so. */
  state: 'publish' | 'pubrel';
}

export interface MqttSessionStore {
  listMqttSessions(): Promise<MqttSession[]>;
  /** Creates it or replaces its subscriptions. */
  saveMqttSession(session: MqttSession): Promise<void>;
  touchMqttSessions(sessions: readonly MqttSessionName[], at: number): Promise<void>;
  /** With everything that waits for it. */
  deleteMqttSession(session: MqttSessionName): Promise<void>;
  /** Does nothing for a session that is not there, nor for a message that waits already. */
  enqueueMqtt(
    messages: readonly { session: MqttSessionName; notificationId: string; qos: MqttWaiting['qos'] }[],
  ): Promise<void>;
  /** In the order of the notifications. */
  listMqttWaiting(session: MqttSessionName, limit: number): Promise<MqttWaiting[]>;
  /** Those that have a message id, in the order of the notifications. */
  listMqttInFlight(session: MqttSessionName): Promise<MqttWaiting[]>;
  updateMqttWaiting(
    session: MqttSessionName,
    messages: readonly Pick<MqttWaiting, 'notificationId' | 'messageId' | 'state'>[],
  ): Promise<void>;
  removeMqttWaiting(session: MqttSessionName, notificationIds: readonly string[]): Promise<void>;
  /** Keeps the newest. */
  trimMqttWaiting(session: MqttSessionName, keep: number): Promise<void>;
  /** Deletes sessions last seen before, and those whose device is gone, with what waits for them; says how many. */
  purgeMqttSessions(before: number): Promise<number>;
}
