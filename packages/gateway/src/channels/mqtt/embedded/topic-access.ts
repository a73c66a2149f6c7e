// What a device may subscribe to and publish. Pure.

import { acknowledgementTopic, deviceTopic } from '../../../core/device-topics.ts';
import type { MqttSubscription } from '../../../usecases/ports/index.ts';
import { limits } from './limits.ts';

export interface DeviceTopics {
  /** Everything of this device lies below; ends with a slash. */
  base: string;
  notifications: string;
  acknowledgements: string;
}

export function topicsOf(prefix: string, ownerId: string, deviceId: string): DeviceTopics {
  const notifications = deviceTopic(prefix, ownerId, deviceId);
  return {
    base: notifications.slice(0, notifications.lastIndexOf('/') + 1),
    notifications,
    acknowledgements: acknowledgementTopic(prefix, ownerId, deviceId),
  };
}

/** Control characters, NUL above all (MQTT-1.5.3-2), and what was no UTF-8. */
const unwelcome = /[\p{Cc}\p{Cs}\ufffd]/u;

/** Only what lies strictly below the device's own prefix; that alone shuts out `$share`, `$SYS` and wildcards above. */
export function maySubscribe({ base }: DeviceTopics, filter: string): boolean {
  if (!filter.startsWith(base) || filter.length > limits.filterLength || unwelcome.test(filter)) return false;
  const levels = filter.slice(base.length).split('/');
  return levels.every(
    (level, index) =>
      level === '+' || (level === '#' && index === levels.length - 1) || (level !== '' && !/[+#]/.test(level)),
  );
}

/** The QoS at which subscriptions reach a topic (MQTT-3.3.5-1: the highest of those that match); null when none does. */
export function grantedQos(subscriptions: Iterable<MqttSubscription>, topic: string): MqttSubscription['qos'] | null {
  let granted: MqttSubscription['qos'] | null = null;
  for (const { filter, qos } of subscriptions) {
    if ((granted === null || qos > granted) && matches(filter, topic)) granted = qos;
  }
  return granted;
}

function matches(filter: string, topic: string): boolean {
  if (filter === topic) return true;
  const wanted = filter.split('/');
  const levels = topic.split('/');
  for (const [index, level] of wanted.entries()) {
    if (level === '#') return true;
    if (index >= levels.length || (level !== '+' && level !== levels[index])) return false;
  }
  return wanted.length === levels.length;
}
