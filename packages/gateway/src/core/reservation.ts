// A channel that keeps its own queues can store its messages in the transaction of the notification: one commit makes both
// durable, and nothing has to be retried after a crash.
import type { Qos } from '@tocsin/contract';
import type { Outcome } from './outcome.ts';

/** A message for a queue of the embedded MQTT broker; without a client id for the queue of the device itself. */
export interface QueuedMessage {
  readonly deviceId: string;
  readonly clientId: string;
  readonly qos: Qos;
}

/** Places in the queues of one channel, for one notification that is about to be stored. */
export interface Reservation {
  readonly messages: readonly QueuedMessage[];
  /** One per target, if all messages are stored. */
  readonly outcomes: readonly Outcome[];
  /** The notification was stored, without the messages at these indexes. Returns one outcome per target. */
  commit(notQueued: readonly number[]): readonly Outcome[];
  /** The notification was not stored, or it is not known whether it was. */
  cancel(): void;
}
