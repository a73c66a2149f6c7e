// Publishes a message for each target, on the service's broker or on the one that the request brought.

import { type Channel, type OpenChannel, timeoutOf } from '../../core/channel.ts';
import { deviceTopic } from '../../core/device-topics.ts';
import { dayMs } from '../../core/duration.ts';
import type { Notification } from '../../core/notification.ts';
import type { Outcome } from '../../core/outcome.ts';
import { type CustomPublisher, notReached } from './custom.ts';
import { messageOf } from './format.ts';
import type { MqttMessage, MqttPublisher } from './publisher.ts';
import type { MqttTarget } from './target.ts';

export interface MqttSenderOptions {
  publisher: MqttPublisher;
  custom: CustomPublisher;
  topicPrefix: string;
  /** 0: messages never expire. */
  retentionDays: number;
  /** Each of the two has its own, so that brokers of callers cannot block ours. */
  guards?: Record<'own' | 'custom', (channel: Channel<MqttTarget>) => Channel<MqttTarget>>;
}

export function createMqttSender(options: MqttSenderOptions): OpenChannel<MqttTarget> {
  const { publisher, custom, guards = { own: unguarded, custom: unguarded } } = options;

  const own = guards.own({
    async send(notification, targets, { qos, isStored }, signal) {
      const payload = messageOf(notification);
      return Promise.all(
        targets.map(async (target): Promise<Outcome> => {
          // A topic that a caller chose is for the caller's broker only.
          if (target.topic !== undefined) return notReached;
          const toSend = message(notification, target, payload, qos);
          if (isStored === false && toSend.notification !== null) toSend.notification.isStored = false;
          return publisher.publish(toSend, signal);
        }),
      );
    },
    reserve(notification, targets, { qos }) {
      if (publisher.reserve === undefined || targets.some(({ topic }) => topic !== undefined)) return null;
      const { id: notificationId, ownerId } = notification;
      const deviceIds = targets.map(({ id }) => id);
      return publisher.reserve({ notificationId, ownerId, deviceIds, qos, payload: messageOf(notification) });
    },
  });

  const viaCallerBroker = guards.custom({
    async send(notification, targets, { qos, customBroker }, signal) {
      if (customBroker === null) return targets.map(() => notReached);
      const payload = messageOf(notification);
      const messages = targets.map((target) => message(notification, target, payload, qos));
      return custom.publish(customBroker, messages, signal, notification.ownerId);
    },
  });

  const message = (
    notification: Notification,
    target: MqttTarget,
    payload: Buffer,
    qos: MqttMessage['qos'],
  ): MqttMessage => {
    const { id, ownerId, createdAt } = notification;
    const { topicPrefix, retentionDays } = options;
    return {
      topic: target.topic ?? deviceTopic(topicPrefix, ownerId, target.id),
      payload,
      qos,
      expiresAt: retentionDays === 0 ? null : createdAt + retentionDays * dayMs,
      notification: target.topic === undefined ? { id, ownerId, deviceId: target.id } : null,
    };
  };

  return {
    async send(notification, targets, sendOptions, signal) {
      if (sendOptions.customBroker === null) return own.send(notification, targets, sendOptions, signal);
      const outcomes = await viaCallerBroker.send(notification, targets, sendOptions, signal);
      // The credentials are not stored, so nothing can be retried, whatever the guard says.
      return outcomes.map((outcome) => (outcome.kind === 'retry' ? notReached : outcome));
    },
    reserve: (notification, targets, sendOptions) =>
      sendOptions.customBroker === null ? (own.reserve?.(notification, targets, sendOptions) ?? null) : null,
    timeoutMs: (sendOptions) => timeoutOf(sendOptions.customBroker === null ? own : viaCallerBroker, sendOptions),
    check: () => publisher.check(),
    close: () => publisher.close(),
  };
}

function unguarded(channel: Channel<MqttTarget>): Channel<MqttTarget> {
  return channel;
}
