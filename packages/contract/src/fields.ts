// The notification request (docs/callers.md#fields): names, limits, defaults, vocabularies. Normalization, OpenAPI
// document, metadata and tests read them from here.

export const kind = 'external_notification';

export const limits = {
  titleCharacters: 140,
  bodyCharacters: 2000,
  sourceCharacters: 200,
  requestBytes: 256 * 1024,
  nestingDepth: 32,
  topLevelFields: 256,
  customTopicBytes: 512,
} as const;

export const defaults = {
  title: 'External Notification',
  body: '',
  source: 'third_party',
  category: 'info',
  severity: null,
  mqttQos: 1,
} as const;

export const categories = ['info', 'task', 'promo'] as const;
export type Category = (typeof categories)[number];

export const severities = ['info', 'warning', 'error', 'critical'] as const;
export type Severity = (typeof severities)[number];

export const qosLevels = [0, 1, 2] as const;
export type Qos = (typeof qosLevels)[number];

export const connectionModes = ['environment', 'custom'] as const;

/** Incoming field → canonical field; the first one present sets the canonical field. */
export const aliases = { subject: 'title', description: 'body', text: 'body', service: 'source' } as const;

export const categorySynonyms: Readonly<Record<string, Category>> = {
  information: 'info',
  infos: 'info',
  tasks: 'task',
  todo: 'task',
  todos: 'task',
  promos: 'promo',
  promotion: 'promo',
  promotions: 'promo',
  promotional: 'promo',
  marketing: 'promo',
};

export const severitySynonyms: Readonly<Record<string, Severity>> = {
  warn: 'warning',
  warnings: 'warning',
  err: 'error',
  errors: 'error',
  fail: 'error',
  failed: 'error',
  failure: 'error',
  crit: 'critical',
  fatal: 'critical',
  emergency: 'critical',
  emerg: 'critical',
  alert: 'critical',
  panic: 'critical',
  information: 'info',
  notice: 'info',
  debug: 'info',
  ok: 'info',
  success: 'info',
  resolved: 'info',
};

/** Top-level fields that control the request and are therefore not part of the merged data. */
export const controlFields = [
  'title',
  'body',
  'source',
  'category',
  'severity',
  'sendPush',
  'sendEmail',
  'sendMqtt',
  'strictDelivery',
  'deviceId',
  'mqttQos',
  'mqttConnection',
  'mqttConfig',
  'payload',
  'data',
] as const;

/** Member of `mqttConfig` → its aliases. */
export const mqttConfigSpellings = {
  url: ['brokerUrl'],
  host: ['hostname'],
  port: [],
  path: ['websocketPath'],
  protocol: [],
  username: ['user'],
  password: ['pass'],
  clientId: [],
  topic: [],
} as const;

export const mqttConfigDefaults = { port: 8884, path: '/mqtt' } as const;

export const contentTypes = ['application/json', 'application/x-www-form-urlencoded', 'text/plain'] as const;

/** Device ids are part of MQTT topics, so they must not contain wildcards, slashes or control characters. */
export const deviceIdPattern = '^[A-Za-z0-9_-]{1,64}$';
