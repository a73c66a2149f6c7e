// The ways to reach people.
import type { CustomBroker, Qos } from '@tocsin/contract';
import type { Outcome } from '../../core/outcome.ts';
import type { EmailTarget, MqttTarget, PushTarget } from '../../core/plan.ts';
import type { Notification } from './notifications.ts';

export interface SendOptions {
  qos: Qos;
  /** A broker that the request brought along; null: the service's own. */
  customBroker: CustomBroker | null;
  /** The notification could not be stored: nothing that waits can refer to its row. */
  isStored?: false;
}

/**
 * A way to reach people. `send` gives one outcome per target, in order, and never rejects. When the signal aborts it
 * settles at once: what is not known to be sent by then is a `retry`.
 */
export interface Channel<Target> {
  send(
    notification: Notification,
    targets: readonly Target[],
    options: SendOptions,
    signal: AbortSignal,
  ): Promise<readonly Outcome[]>;
}

/** A channel with what its keeper needs: a look at its health, and an end. */
export interface ManagedChannel<Target> extends Channel<Target> {
  /** null when the provider answers; otherwise what is wrong and what to do, without secrets. */
  check(): Promise<string | null>;
  close(): Promise<void>;
}

export interface Channels {
  push: Channel<PushTarget>;
  email: Channel<EmailTarget>;
  mqtt: Channel<MqttTarget>;
}
