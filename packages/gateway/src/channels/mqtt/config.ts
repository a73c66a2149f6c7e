// The environment variables of the MQTT channel.
import { parseInteger, parseTimeout, type SettingsReader, timeoutWanted } from '../../core/settings-reader.ts';

export interface MqttConfig {
  topicPrefix: string;
  timeoutMs: number;
  /** Limit of a device's queue in the embedded broker. */
  queueLimit: QueueLimit;
  /** Port of the embedded broker, if there is no platform broker. */
  embeddedPort: number;
  /** null: the embedded broker is used. */
  platform: PlatformBrokerConfig | null;
}

/** What happens to a message for a device whose queues are full. */
export const fullQueuePolicies = ['wait', 'drop_oldest', 'drop_newest'] as const;

/** Limits of the embedded broker. */
export interface QueueLimit {
  /** Messages in one queue. */
  length: number;
  /** `wait`: the message becomes a delivery in the retry queue. The others turn the dropped message into a dead delivery. */
  whenFull: (typeof fullQueuePolicies)[number];
}

export const defaultQueueLimit: QueueLimit = { length: 100_000, whenFull: 'wait' };

export interface PlatformBrokerConfig {
  /** mqtt:, mqtts:, ws: or wss: */
  url: URL;
  username: string | null;
  password: string | null;
  /** Certificate authority in PEM form, in addition to those that Node trusts. */
  ca: string | null;
}

export function readMqttConfig(read: SettingsReader): MqttConfig {
  return {
    topicPrefix: read.value(
      'TOCSIN_MQTT_TOPIC_PREFIX',
      'tocsin',
      `a topic of at most ${maxPrefixBytes} bytes without wildcards, spaces, control characters and outer slashes`,
      parseTopicPrefix,
    ),
    timeoutMs: read.value('TOCSIN_MQTT_TIMEOUT_MS', 2000, timeoutWanted, parseTimeout),
    embeddedPort: read.value('TOCSIN_MQTT_PORT', 1883, 'a port from 0 to 65535', (text) =>
      parseInteger(text, 0, 65_535),
    ),
    queueLimit: {
      length: read.value('TOCSIN_MQTT_QUEUE_LIMIT', defaultQueueLimit.length, 'a number from 100 to 10000000', (text) =>
        parseInteger(text, 100, 10_000_000),
      ),
      whenFull: read.value('TOCSIN_MQTT_QUEUE_FULL', defaultQueueLimit.whenFull, fullQueuePolicies.join(', '), (text) =>
        fullQueuePolicies.find((policy) => policy === text),
      ),
    },
    platform: readPlatformBroker(read),
  };
}

/** Leaves space for the ids after it in the topic filters that the embedded broker accepts. */
const maxPrefixBytes = 256;

/** Brokers disconnect clients that send control characters or noncharacters (MQTT 3.1.1, section 1.5.3). */
function parseTopicPrefix(text: string): string | undefined {
  const isTopic = /^(?![$/])[^+#\s\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\ufffd]+(?<!\/)$/u.test(text);
  return isTopic && Buffer.byteLength(text) <= maxPrefixBytes ? text : undefined;
}

function readPlatformBroker(read: SettingsReader): PlatformBrokerConfig | null {
  const url = read.secret('TOCSIN_MQTT_URL', 'an address that begins with mqtt:, mqtts:, ws: or wss:', (text) =>
    /^(mqtts?|wss?):$/.test(URL.parse(text)?.protocol ?? '') && new URL(text).hostname !== ''
      ? new URL(text)
      : undefined,
  );
  const username = read.value<string | null>('TOCSIN_MQTT_USERNAME', null, 'a user name', (text) => text);
  const password = read.secret('TOCSIN_MQTT_PASSWORD', 'a password', (text) => text);
  const ca = read.secret('TOCSIN_MQTT_CA', 'a certificate in PEM form', (text) =>
    text.includes('-----BEGIN CERTIFICATE-----') ? text : undefined,
  );
  return url === null ? null : { url, username, password, ca };
}
