// The MQTT channel: a message for each target, over the service's broker or the one that the request brought along.

import { deviceTopic } from '../../core/device-topics.ts';
import { dayMs } from '../../core/duration.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { MqttTarget } from '../../core/plan.ts';
import type { Channel, ManagedChannel, Notification } from '../../usecases/ports/index.ts';
import { type CustomPublisher, notReached } from './custom.ts';
import { messageOf } from './format.ts';
import type { MqttMessage, MqttPublisher } from './publisher.ts';

export interface MqttChannelOptions {
  publisher: MqttPublisher;
  custom: CustomPublisher;
  topicPrefix: string;
  /** 0: for ever. */
  retentionDays: number;
  /** Goes around each of the two ways on its own, so that brokers of callers cannot stand in the way of ours. */
  guards?: Record<'own' | 'custom', (channel: Channel<MqttTarget>) => Channel<MqttTarget>>;
}

export function createMqttChannel(options: MqttChannelOptions): ManagedChannel<MqttTarget> {
  const { publisher, custom, guards = { own: unguarded, custom: unguarded } } = options;

  const own = guards.own({
    async send(notification, targets, { qos, isStored }, signal) {
      const payload = messageOf(notification);
      return Promise.all(
        targets.map(async (target): Promise<Outcome> => {
          // A topic that a caller chose is for the caller's broker only.
          if ('topic' in target) return notReached;
          const toSend = message(notification, target, payload, qos);
          if (isStored === false && toSend.notification !== null) toSend.notification.isStored = false;
          return publisher.publish(toSend, signal);
        }),
      );
    },
  });

  const brought = guards.custom({
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
      topic: 'topic' in target ? target.topic : deviceTopic(topicPrefix, ownerId, target.deviceId),
      payload,
      qos,
      expiresAt: retentionDays === 0 ? null : createdAt + retentionDays * dayMs,
      notification: 'topic' in target ? null : { id, ownerId, deviceId: target.deviceId },
    };
  };

  return {
    async send(notification, targets, sendOptions, signal) {
      if (sendOptions.customBroker === null) return own.send(notification, targets, sendOptions, signal);
      const outcomes = await brought.send(notification, targets, sendOptions, signal);
      // The credentials are gone after this request: nothing can be tried again, whatever the guard says.
      return outcomes.map((outcome) => (outcome.kind === 'retry' ? notReached : outcome));
    },
    check: () => publisher.check(),
    close: () => publisher.close(),
  };
}

function unguarded(channel: Channel<MqttTarget>): Channel<MqttTarget> {
  return channel;
}
