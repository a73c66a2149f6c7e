// The part of the environment that speaks of channels and their providers.

/** Reads one variable; `parse` gives undefined for what it does not understand, which becomes a problem. */
export interface Reader {
  value<T>(name: string, fallback: T, wanted: string, parse: (text: string) => T | undefined): T;
  /** Like `value`, and also reads the file in the variable with the suffix _FILE. */
  secret<T>(name: string, wanted: string, parse: (text: string) => T | undefined): T | null;
  problem(text: string): void;
}

export interface MqttConfig {
  topicPrefix: string;
  timeoutMs: number;
  /** Of the embedded broker: how many messages may wait for a device, and what happens beyond. */
  queueLimit: QueueLimit;
  /** Where the embedded broker listens, unless there is a platform broker. */
  embeddedPort: number;
  /** null: the embedded broker is used. */
  platform: PlatformBrokerConfig | null;
}

/** What happens to a message for a device whose queues are full. */
export const fullQueuePolicies = ['wait', 'drop_oldest', 'drop_newest'] as const;

/** Of the embedded broker. */
export interface QueueLimit {
  /** Messages that wait in one queue. */
  length: number;
  /** `wait`: it becomes a delivery in the retry queue. The others make a dead delivery of the one that is dropped. */
  whenFull: (typeof fullQueuePolicies)[number];
}

export const defaultQueueLimit: QueueLimit = { length: 100_000, whenFull: 'wait' };

export interface PlatformBrokerConfig {
  /** mqtt:, mqtts:, ws: or wss: */
  url: URL;
  username: string | null;
  password: string | null;
  /** Certificate authority in PEM form, besides those that Node knows. */
  ca: string | null;
}

export interface EmailConfig {
  /** smtp: or smtps:, with user name and password where needed. */
  url: URL;
  from: string;
  timeoutMs: number;
}

export interface PushConfig {
  timeoutMs: number;
  /** Contact for push services: mailto: or https:. */
  webPushSubject: string;
  /** Push services besides the known ones. */
  webPushHosts: string[];
  /** null: not configured. */
  fcm: FcmConfig | null;
  apns: ApnsConfig | null;
}

export interface FcmConfig {
  clientEmail: string;
  privateKey: string;
  projectId: string;
  tokenUrl: string;
  endpoint: string;
}

export interface ApnsConfig {
  key: string;
  keyId: string;
  teamId: string;
  topic: string;
  endpoint: string;
}

export const defaultWebPushSubject = 'https://localhost';

/** Below the budget of a request, or the channel could not say that its provider was too slow. */
const maxTimeoutMs = 9000;
const timeoutWanted = `a number of milliseconds from 100 to ${maxTimeoutMs}`;

export function readMqttConfig(read: Reader): MqttConfig {
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

/** Leaves room for the ids behind it in the filters that the embedded broker takes. */
const maxPrefixBytes = 256;

/** Brokers hang up on control characters and on what is no character (MQTT 3.1.1, section 1.5.3). */
function parseTopicPrefix(text: string): string | undefined {
  const isTopic = /^(?![$/])[^+#\s\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\ufffd]+(?<!\/)$/u.test(text);
  return isTopic && Buffer.byteLength(text) <= maxPrefixBytes ? text : undefined;
}

function readPlatformBroker(read: Reader): PlatformBrokerConfig | null {
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

export function readEmailConfig(read: Reader): EmailConfig | null {
  const url = read.secret('TOCSIN_SMTP_URL', 'an address that begins with smtp: or smtps:', (text) =>
    /^smtps?:$/.test(URL.parse(text)?.protocol ?? '') && new URL(text).hostname !== '' ? new URL(text) : undefined,
  );
  const wanted = 'an address such as tocsin@example.com or "Tocsin <tocsin@example.com>"';
  const from = read.value<string | null>('TOCSIN_EMAIL_FROM', null, wanted, (text) =>
    /^([^@<>,\p{Cc}]*<[^\s@<>,]+@[^\s@<>,]+>|[^\s@<>,]+@[^\s@<>,]+)$/u.test(text) ? text : undefined,
  );
  const timeoutMs = read.value('TOCSIN_EMAIL_TIMEOUT_MS', 8000, timeoutWanted, parseTimeout);
  if (url === null) return null;
  if (from === null) read.problem('TOCSIN_EMAIL_FROM is required with TOCSIN_SMTP_URL: the sender address of emails.');
  return { url, from: from ?? '', timeoutMs };
}

export function readPushConfig(read: Reader): PushConfig {
  return {
    timeoutMs: read.value('TOCSIN_PUSH_TIMEOUT_MS', 5000, timeoutWanted, parseTimeout),
    webPushSubject: read.value(
      'TOCSIN_WEBPUSH_SUBJECT',
      defaultWebPushSubject,
      'a mailto: or https: address',
      (text) => (/^(mailto:|https:\/\/)./.test(text) ? text : undefined),
    ),
    webPushHosts: read.value('TOCSIN_WEBPUSH_HOSTS', [], 'host names, separated by commas', parseHosts),
    fcm: readFcm(read),
    apns: readApns(read),
  };
}

function readFcm(read: Reader): FcmConfig | null {
  const endpoint = read.value('TOCSIN_FCM_ENDPOINT', 'https://fcm.googleapis.com', 'an https address', parseHttpUrl);
  const account = read.secret('TOCSIN_FCM_CREDENTIALS', 'the JSON of a service account', parseServiceAccount);
  return account && { ...account, endpoint };
}

function readApns(read: Reader): ApnsConfig | null {
  const key = read.secret('TOCSIN_APNS_KEY', 'the text of the .p8 key', (text) =>
    text.includes('-----BEGIN PRIVATE KEY-----') ? text : undefined,
  );
  const readId = (name: string): string =>
    read.value(name, '', 'ten letters and digits', (text) => (/^[A-Z0-9]{10}$/.test(text) ? text : undefined));
  const keyId = readId('TOCSIN_APNS_KEY_ID');
  const teamId = readId('TOCSIN_APNS_TEAM_ID');
  const topic = read.value('TOCSIN_APNS_TOPIC', '', 'the bundle id of the app', (text) => text);
  const endpoint = read.value('TOCSIN_APNS_ENDPOINT', 'https://api.push.apple.com', 'an https address', parseHttpUrl);
  if (key === null) return null;
  if (!keyId || !teamId || !topic) {
    read.problem('TOCSIN_APNS_KEY needs TOCSIN_APNS_KEY_ID, TOCSIN_APNS_TEAM_ID and TOCSIN_APNS_TOPIC beside it.');
  }
  return { key, keyId, teamId, topic, endpoint };
}

export function parseInteger(text: string, least: number, most: number): number | undefined {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}

function parseHosts(text: string): string[] | undefined {
  const hosts = text.split(',').map((host) => host.trim().toLowerCase());
  return hosts.every((host) => /^(\*\.)?[a-z0-9.-]+(:\d{1,5})?$/.test(host)) ? hosts : undefined;
}

function parseTimeout(text: string): number | undefined {
  return parseInteger(text, 100, maxTimeoutMs);
}

function parseHttpUrl(text: string): string | undefined {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '') ? text.replace(/\/$/, '') : undefined;
}

function parseServiceAccount(text: string): Omit<FcmConfig, 'endpoint'> | undefined {
  try {
    const account = JSON.parse(text) as Record<string, unknown>;
    const read = (name: string): string | undefined => {
      const value = account[name];
      return typeof value === 'string' && value !== '' ? value : undefined;
    };
    const [clientEmail, privateKey, projectId] = [read('client_email'), read('private_key'), read('project_id')];
    if (clientEmail === undefined || privateKey === undefined || projectId === undefined) return undefined;
    const tokenUrl = parseHttpUrl(read('token_uri') ?? 'https://oauth2.googleapis.com/token');
    return tokenUrl === undefined ? undefined : { clientEmail, privateKey, projectId, tokenUrl };
  } catch {
    return undefined;
  }
}
