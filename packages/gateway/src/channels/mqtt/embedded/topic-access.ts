// The topics of a device, and which filters it may subscribe to. Pure.

import { acknowledgementTopic, deviceTopic } from '../../../core/device-topics.ts';
import type { MqttSubscription } from '../../../usecases/ports/index.ts';
import { limits } from './limits.ts';

export interface DeviceTopics {
  /** The prefix of all topics of this device, with a slash at the end. */
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

/** Control characters, such as NUL (MQTT-1.5.3-2), and characters that replaced invalid UTF-8. */
export function hasForbiddenCharacters(text: string): boolean {
  return /[\p{Cc}\p{Cs}\ufffd]/u.test(text);
}

/** Allows only topics below the prefix of the device, which also excludes `$share`, `$SYS` and wildcards above it. */
export function maySubscribe({ base }: DeviceTopics, filter: string): boolean {
  if (!filter.startsWith(base) || filter.length > limits.filterLength || hasForbiddenCharacters(filter)) return false;
  const levels = filter.slice(base.length).split('/');
  return levels.every(
    (level, index) =>
      level === '+' || (level === '#' && index === levels.length - 1) || (level !== '' && !/[+#]/.test(level)),
  );
}

/** The highest QoS of the subscriptions that match the topic (MQTT-3.3.5-1); null if none matches. */
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
