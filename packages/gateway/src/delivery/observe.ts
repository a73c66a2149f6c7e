// Decorators that report saves and sends to metrics and traces, so that the use cases need not know about them.
import type { StoreReason } from '@tocsin/contract';
import { type ChannelDefinitions, type Channels, mapChannels, type SendOptions, withSend } from '../core/channel.ts';
import type { Outcome } from '../core/outcome.ts';
import {
  EncryptionKeyMissing,
  type Notification,
  type NotificationWriter,
  StoreUnavailable,
} from '../usecases/ports/index.ts';

export type Attempt = 'first' | 'redelivery';
export type SaveResult = 'stored' | 'duplicate' | StoreReason | 'failed';

/** Each is called when a save or a send starts, and returns a callback for its result. */
export interface DeliveryObserver {
  saving(notification: Notification): (result: SaveResult) => void;
  /** The outcomes are empty if the channel itself failed. */
  sending(channel: string, attempt: Attempt, notification: Notification): (outcomes: readonly Outcome[]) => void;
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
  channels: Channels,
  definitions: ChannelDefinitions,
  attempt: Attempt,
  observer: DeliveryObserver,
): Channels {
  return mapChannels(channels, (channel, name) => {
    const definition = definitions.find((each) => each.name === name);
    const start = (notification: Notification, options: SendOptions) =>
      observer.sending(definition?.observedName?.(options) ?? name, attempt, notification);
    const observed = withSend(channel, async (notification, targets, options, signal) => {
      const end = start(notification, options);
      let outcomes: readonly Outcome[] = [];
      try {
        outcomes = await channel.send(notification, targets, options, signal);
        return outcomes;
      } finally {
        end(outcomes);
      }
    });
    if (channel.reserve === undefined) return observed;
    return {
      ...observed,
      reserve(notification, targets, options) {
        const reservation = channel.reserve?.(notification, targets, options) ?? null;
        if (reservation === null) return null;
        return {
          ...reservation,
          commit(notQueued) {
            const end = start(notification, options);
            const outcomes = reservation.commit(notQueued);
            end(outcomes);
            return outcomes;
          },
        };
      },
    };
  });
}
