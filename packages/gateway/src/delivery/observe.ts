// For whoever counts or times saves and sends. The use cases know nothing of it: what they are given is watched from outside.
import type { StoreReason } from '@tocsin/contract';
import type { Outcome } from '../core/outcome.ts';
import {
  type Channel,
  type ChannelName,
  type Channels,
  EncryptionKeyMissing,
  type Notification,
  type NotificationWriter,
  StoreUnavailable,
} from '../usecases/ports/index.ts';

/** Brokers that callers bring are counted apart: what is wrong with them is not for the operator to mend. */
export type ObservedChannel = ChannelName | 'mqtt_custom';
export type Attempt = 'first' | 'redelivery';
export type SaveResult = 'stored' | 'duplicate' | StoreReason | 'failed';

/** Each is told of a beginning and gives back what wants to know the end. */
export interface DeliveryObserver {
  saving(notification: Notification): (result: SaveResult) => void;
  /** The outcomes are empty when the channel itself failed. */
  sending(
    channel: ObservedChannel,
    attempt: Attempt,
    notification: Notification,
  ): (outcomes: readonly Outcome[]) => void;
}

export function observeSaves(notifications: NotificationWriter, observer: DeliveryObserver): NotificationWriter {
  return {
    async save(notification, options) {
      const end = observer.saving(notification);
      try {
        const result = await notifications.save(notification, options);
        end(result === 'duplicate' ? 'duplicate' : 'stored');
        return result;
      } catch (error) {
        end(resultOf(error));
        throw error;
      }
    },
  };
}

function resultOf(error: unknown): SaveResult {
  if (error instanceof EncryptionKeyMissing) return 'encryption_key_missing';
  return error instanceof StoreUnavailable ? 'store_unavailable' : 'failed';
}

export function observeChannels(
  { push, email, mqtt }: Channels,
  attempt: Attempt,
  observer: DeliveryObserver,
): Channels {
  const observe = <Target>(name: ChannelName, channel: Channel<Target>): Channel<Target> => ({
    async send(notification, targets, options, signal) {
      const observed = options.customBroker === null ? name : 'mqtt_custom';
      const end = observer.sending(observed, attempt, notification);
      let outcomes: readonly Outcome[] = [];
      try {
        outcomes = await channel.send(notification, targets, options, signal);
        return outcomes;
      } finally {
        end(outcomes);
      }
    },
  });
  return { push: observe('push', push), email: observe('email', email), mqtt: observe('mqtt', mqtt) };
}
