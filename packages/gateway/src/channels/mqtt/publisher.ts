// What is published to a broker, and how it ended.
import type { Qos } from '@tocsin/contract';
import type { Outcome } from '../../core/outcome.ts';
import type { Reservation } from '../../core/reservation.ts';

export interface MqttMessage {
  topic: string;
  payload: Buffer;
  qos: Qos;
  /** Until when a broker that can (MQTT 5) keeps it for a client that is away; null: as long as it likes. */
  expiresAt: number | null;
  /** Which notification this is, and for which device; null for the topic of a custom broker. */
  notification: { id: string; ownerId: string; deviceId: string; isStored?: false } | null;
}

/** How one publish over a connection ended: `refused` with the reason code of MQTT 5, `tooLarge` and `badQos` unsent. */
export type PublishResult =
  | { kind: 'taken' | 'lost' | 'late' | 'tooLarge' | 'badQos' }
  | { kind: 'refused'; code: number };

/** A notification that is about to be stored, for devices of its owner. */
export interface Publication {
  notificationId: string;
  ownerId: string;
  deviceIds: readonly string[];
  qos: Qos;
  payload: Buffer;
}

/** One broker, ours or another. `publish` never rejects; once the signal aborts it settles at once. */
export interface MqttPublisher {
  publish(message: MqttMessage, signal: AbortSignal): Promise<Outcome>;
  /** Reserves places in the queues of devices; null if one of them has no place, or the broker has no queues of its own. */
  reserve?(publication: Publication): Reservation | null;
  /** Calls back whenever the connection to the broker is made; a broker in this process is always there. */
  onConnected?(listener: () => void): void;
  /** Calls back when a device that took nothing more for a while may take messages again. */
  onRoom?(listener: () => void): void;
  /** null when the broker answers; otherwise what is wrong and what to do, without secrets. */
  check(): Promise<string | null>;
  close(): Promise<void>;
}
