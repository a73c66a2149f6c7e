// The machine-readable description of the API, built from the constants that the service uses.
import { type ErrorCode, errors, hookErrors, notifyErrors } from './errors.ts';
import { formExample, jsonExamples, textExample } from './examples.ts';
import {
  aliases,
  categories,
  connectionModes,
  defaults,
  kind,
  limits,
  mqttConfigDefaults,
  qosLevels,
  severities,
} from './fields.ts';
import { hookLimits, hookPath, hookPrefix } from './hooks.ts';
import { notifyKeyTypes } from './keys.ts';
import { warnings } from './report.ts';
import { signatureHeaders, signatureWindowMs } from './signature.ts';

type Json = Record<string, unknown>;

const jsonType = 'application/json';
const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const headerRef = (name: string): Json => ({ $ref: `#/components/headers/${name}` });

export function openApiDocument(version: string): Json {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tocsin public notify API',
      version,
      summary: 'One POST delivers to push, email and MQTT.',
      description:
        'Accepts one notification per request, stores it encrypted, delivers it over push, email and MQTT, and reports the ' +
        'result of each channel in the response.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The host that served this document' }],
    paths: {
      '/': { get: getOperation(), head: headOperation(), post: postOperation(), options: optionsOperation() },
      [`${hookPath}{token}`]: hookOperations(),
    },
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: `The recommended form. Key types: ${notifyKeyTypes.join(', ')}.`,
        },
        apiKeyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        serviceKeyHeader: { type: 'apiKey', in: 'header', name: 'X-SERVICE-Key' },
      },
      headers: headers(),
      schemas: {
        NotificationRequest: requestSchema(),
        MqttConfig: mqttConfigSchema(),
        Notified: successSchema(),
        EventReceived: receivedSchema(),
        Refused: errorSchema(),
        Metadata: metadataSchema(),
      },
    },
  };
}

function postOperation(): Json {
  const examples = Object.fromEntries(Object.entries(jsonExamples).map(([name, example]) => [name, { ...example }]));
  return {
    operationId: 'notify',
    summary: 'Send a notification',
    description:
      'A notification is stored before it is delivered: a 200 with `stored` true means that it is on disk, encrypted. ' +
      'Failures of single channels are reported in the response and do not fail the request, unless `strictDelivery` is true.',
    security: [{ bearer: [] }, { apiKeyHeader: [] }, { serviceKeyHeader: [] }],
    parameters: [
      {
        name: signatureHeaders.timestamp,
        in: 'header',
        description: `Milliseconds since 1970, 13 digits, within ${signatureWindowMs / 60_000} minutes. Required with ${signatureHeaders.signature}.`,
        schema: { type: 'string', pattern: '^\\d{13}$' },
      },
      {
        name: signatureHeaders.signature,
        in: 'header',
        description:
          'Lowercase hex HMAC-SHA256 of the timestamp followed by the raw body, keyed with the API key. Accepted once.',
        schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      },
      {
        name: 'Idempotency-Key',
        in: 'header',
        description:
          'Makes the request idempotent: repeating it within 24 hours returns the original response and processes nothing. ' +
          'Scoped to the owner: all API keys of one owner share it.',
        schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
        example: '4f1b7a52-6f0b-4b0e-9a34-5d1c8a2f7e10',
      },
    ],
    requestBody: {
      required: true,
      content: {
        [jsonType]: { schema: ref('NotificationRequest'), examples },
        'application/x-www-form-urlencoded': {
          schema: ref('NotificationRequest'),
          examples: { form: { ...formExample } },
        },
        'text/plain': {
          schema: { type: 'string', description: 'A JSON object is read as JSON; any other text becomes the body.' },
          examples: { text: { ...textExample } },
        },
      },
    },
    responses: {
      '200': {
        description: 'Processed; the fields report the result of each channel.',
        headers: {
          ...commonHeaders(),
          RateLimit: headerRef('RateLimit'),
          'RateLimit-Policy': headerRef('RateLimitPolicy'),
          'Idempotency-Replayed': headerRef('IdempotencyReplayed'),
        },
        content: { [jsonType]: { schema: ref('Notified') } },
      },
      ...errorResponses(notifyErrors),
    },
  };
}

function hookOperations(): Json {
  const post = {
    operationId: 'receiveEvent',
    summary: 'Send an event to a hook',
    description:
      'For senders that cannot send a key or the fields of a notification. Any body that is not empty is accepted: JSON, ' +
      'a form, multipart or text, also compressed. The 200 is sent once the event is on disk, before it is delivered. ' +
      'What may succeed later is a 503, since most senders repeat a request only then.',
    requestBody: { required: true, content: { '*/*': { schema: {} } } },
    responses: {
      '200': {
        description: 'Stored, stored before, or ignored. Some presets answer as their sender expects instead.',
        headers: commonHeaders(),
        content: { [jsonType]: { schema: ref('EventReceived') } },
      },
      ...errorResponses(hookErrors),
    },
    security: [],
  };
  return {
    parameters: [
      {
        name: 'token',
        in: 'path',
        required: true,
        description: 'The token of the hook. Anything may follow it after a slash.',
        schema: { type: 'string', pattern: `^${hookPrefix}[0-9A-Za-z]{38}$` },
      },
    ],
    post,
    put: { ...post, operationId: 'putEvent', summary: 'The same as POST' },
  };
}

function receivedSchema(): Json {
  return {
    type: 'object',
    required: ['ok'],
    properties: {
      ok: { const: true },
      id: { type: 'string', format: 'uuid', description: 'The notification; missing if the event was ignored.' },
      repeated: { const: true, description: 'The event was stored before, with this id.' },
      ignored: { type: 'string', description: 'Why no notification was made of the event.' },
      warnings: {
        type: 'array',
        items: { type: 'string' },
        description: `What was changed, such as \`file_dropped:NAME\`. Bodies of up to ${hookLimits.requestBytes} bytes are kept whole.`,
      },
    },
  };
}

function getOperation(): Json {
  return {
    operationId: 'describe',
    summary: 'Describe the endpoint',
    security: [],
    parameters: [
      {
        name: 'format',
        in: 'query',
        description: '`openapi` selects this document; anything else the metadata.',
        schema: { type: 'string' },
      },
    ],
    responses: {
      '200': {
        description: 'The metadata, or with `format=openapi` the OpenAPI document.',
        headers: commonHeaders(),
        content: {
          [jsonType]: {
            schema: {
              anyOf: [
                ref('Metadata'),
                { type: 'object', required: ['openapi'], properties: { openapi: { type: 'string' } } },
              ],
            },
          },
        },
      },
    },
  };
}

function headOperation(): Json {
  return {
    operationId: 'probe',
    summary: 'Get the headers of GET',
    security: [],
    responses: { '200': { description: 'As GET, without a body.', headers: commonHeaders() } },
  };
}

function optionsOperation(): Json {
  const text = (description: string): Json => ({ description, schema: { type: 'string' } });
  return {
    operationId: 'preflight',
    summary: 'CORS preflight',
    security: [],
    responses: {
      '204': {
        description: 'Any origin is allowed; the key decides.',
        headers: {
          ...commonHeaders(),
          'Access-Control-Allow-Methods': text('The methods a page may use.'),
          'Access-Control-Allow-Headers': text('The headers a page may send.'),
          'Access-Control-Max-Age': text('How long a browser may cache this, in seconds.'),
        },
      },
    },
  };
}

/** One response per status, with the error codes that have it. */
function errorResponses(codes: readonly ErrorCode[]): Json {
  const byStatus = Map.groupBy(codes, (code) => errors[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [
      String(status),
      {
        description: ofStatus.map((code) => `\`${code}\`: ${errors[code].when}`).join('\n\n'),
        headers: {
          ...commonHeaders(),
          ...([409, 429, 503].includes(status) && { 'Retry-After': headerRef('RetryAfter') }),
        },
        content: {
          [jsonType]: {
            schema: { allOf: [ref('Refused'), { properties: { code: { enum: ofStatus } } }] },
            examples: Object.fromEntries(ofStatus.map((code) => [code, { value: errorExample(code) }])),
          },
        },
      },
    ]),
  );
}

function errorExample(code: ErrorCode): Json {
  const suffix = code === 'key_type_not_allowed' ? ': site_server' : '';
  return {
    ok: false,
    error: errors[code].text + suffix,
    code,
    ...(code === 'invalid_body' && { details: [{ field: 'mqttQos', problem: 'must be 0, 1 or 2' }] }),
    requestId: 'req_Zk3rXw9v1a',
    timestamp: '2026-11-15T08:00:00.000Z',
  };
}

function commonHeaders(): Json {
  return {
    'Access-Control-Allow-Origin': headerRef('AllowOrigin'),
    'Access-Control-Expose-Headers': headerRef('ExposeHeaders'),
    'X-Request-Id': headerRef('RequestId'),
  };
}

function headers(): Json {
  const header = (description: string, example: string): Json => ({ description, schema: { type: 'string' }, example });
  return {
    AllowOrigin: header('Every origin; no cookies are involved.', '*'),
    ExposeHeaders: header('The headers that a page may read.', 'X-Request-Id'),
    RequestId: header('Identifies this request in the log of the service.', 'req_Zk3rXw9v1a'),
    RetryAfter: header('Seconds to wait.', '30'),
    IdempotencyReplayed: header('Only on a replayed response: the request was not processed again.', 'true'),
    RateLimit: header(
      'The rest of the rate limit, if there is one: r requests, reset in t seconds.',
      '"key";r=99;t=60',
    ),
    RateLimitPolicy: header('The rate limit, if there is one: q requests in w seconds.', '"key";q=100;w=60'),
  };
}

function requestSchema(): Json {
  const text = (description: string, maxLength: number, fallback: string): Json => ({
    type: ['string', 'number', 'boolean', 'null'],
    description: `${description} Trimmed, then truncated to ${maxLength} characters.`,
    default: fallback,
  });
  const toggle = (description: string, fallback?: boolean): Json => ({
    type: ['boolean', 'integer', 'string', 'null'],
    description: `${description} Also 1/0, yes/no, on/off as text.`,
    ...(fallback !== undefined && { default: fallback }),
  });
  const metadata = (description: string): Json => ({ description, default: {} });
  const aliasFields = Object.entries(aliases).map(([alias, field]): [string, Json] => [
    alias,
    { description: `Alias of \`${field}\`, used if that is absent or blank; otherwise it is data.` },
  ]);
  return {
    type: 'object',
    description:
      'At least one of title, body, message, category, severity, a non-empty payload or a non-empty data is required. ' +
      'Other fields are kept and merged into the data. They override payload, which overrides data.',
    maxProperties: limits.topLevelFields,
    properties: {
      title: text('The headline.', limits.titleCharacters, defaults.title),
      body: text('The text.', limits.bodyCharacters, defaults.body),
      source: text('The sender.', limits.sourceCharacters, defaults.source),
      category: {
        type: ['string', 'number', 'boolean', 'null'],
        description: `One of ${categories.join(', ')}, or a synonym; anything else is ${defaults.category}. Also read from payload, then data.`,
        default: defaults.category,
        examples: [...categories],
      },
      severity: {
        type: ['string', 'number', 'boolean', 'null'],
        description: `One of ${severities.join(', ')}, or a synonym; anything else is none. Also read from payload, then data.`,
        default: defaults.severity,
        examples: [...severities],
      },
      sendPush: toggle('Whether to send push notifications.', true),
      sendEmail: toggle("Whether to send email for this request. The default is the owner's preference."),
      sendMqtt: toggle('Whether to publish over MQTT.', true),
      strictDelivery: toggle('Whether a failed MQTT publish fails the request with 502.', false),
      deviceId: {
        type: ['string', 'number', 'boolean', 'null'],
        description: 'Publish to this device only. The default is all active devices.',
      },
      mqttQos: {
        description: 'MQTT quality of service; also as text.',
        enum: [...qosLevels, ...qosLevels.map(String), '', null],
        default: defaults.mqttQos,
      },
      mqttConnection: {
        type: ['object', 'string', 'null'],
        description: '`custom` publishes to the broker in `mqttConfig` for this request.',
        properties: { mode: { enum: [...connectionModes, null], default: connectionModes[0] } },
      },
      mqttConfig: {
        description:
          'Required with mode custom and ignored otherwise; never stored, never shown. In a form it is JSON text.',
        anyOf: [ref('MqttConfig'), { type: ['string', 'null'] }],
      },
      payload: metadata('Metadata, merged over `data`. JSON text is parsed.'),
      data: metadata('More metadata. JSON text is parsed.'),
      message: { description: 'Used as `body` if that is absent, and kept in the data.' },
      ...Object.fromEntries(aliasFields),
    },
    additionalProperties: true,
  };
}

function mqttConfigSchema(): Json {
  return {
    type: 'object',
    description:
      'A broker reached over WebSocket with TLS at a public address: `url`, or `host` with `port` and `path`. The aliases ' +
      'brokerUrl, hostname, user, pass and websocketPath are accepted too.',
    properties: {
      url: { type: 'string', examples: ['wss://broker.example.com:8884/mqtt'] },
      host: { type: 'string', examples: ['broker.example.com'] },
      port: { type: ['integer', 'string'], default: mqttConfigDefaults.port },
      path: { type: 'string', default: mqttConfigDefaults.path },
      protocol: { type: 'string', examples: ['wss'] },
      username: { type: 'string' },
      password: { type: 'string', format: 'password' },
      clientId: { type: 'string' },
      topic: {
        type: 'string',
        description: `One publish to this topic instead of one per device; no wildcards, at most ${limits.customTopicBytes} bytes.`,
      },
    },
  };
}

const time: Json = { type: 'string', format: 'date-time' };

function reportProperties(): Record<string, Json> {
  const count: Json = { type: 'integer', minimum: 0 };
  return {
    stored: { type: 'boolean', description: 'Whether the encrypted notification is on disk.' },
    storeReason: { enum: ['encryption_key_missing', 'store_unavailable'], description: 'Only when `stored` is false.' },
    payloadPreview: {
      type: 'object',
      required: ['type', 'title', 'body', 'source', 'category', 'severity', 'dataKeys'],
      additionalProperties: false,
      properties: {
        type: { const: kind },
        title: { type: 'string', maxLength: limits.titleCharacters },
        body: { type: 'string', maxLength: limits.bodyCharacters },
        source: { type: 'string', maxLength: limits.sourceCharacters },
        category: { enum: [...categories] },
        severity: { enum: [...severities, null] },
        dataKeys: { type: 'array', items: { type: 'string' }, description: 'The keys of the merged data.' },
      },
    },
    pushSent: { type: 'boolean', description: 'At least one push target accepted it.' },
    pushAttempted: { ...count, description: 'Number of push targets tried.' },
    pushEnabled: { type: 'boolean' },
    emailEnabled: { type: 'boolean', description: 'False also in the quiet hours of the owner.' },
    emailSent: { type: 'boolean', description: 'The SMTP server accepted it.' },
    emailSkipReason: {
      enum: ['no_address', 'disabled_by_owner', 'disabled_by_request', 'not_configured', 'quiet_hours'],
      description:
        'Only when no email was attempted. `no_address`: the owner has no email address. `disabled_by_owner`: the owner ' +
        'switched email off and the request did not set `sendEmail`. `not_configured`: the gateway has no SMTP server.',
    },
    mqttPublishedCount: {
      ...count,
      description:
        'Devices for which the message is durably queued (embedded broker) or accepted by the broker (any other). Whether a ' +
        'device has acknowledged it is in the inbox.',
    },
    mqttFailedCount: count,
    mqttSkipped: { type: 'boolean' },
    mqttSkipReason: {
      enum: ['no_active_devices', 'disabled_by_request', 'quiet_hours'],
      description: 'Only when skipped. `quiet_hours`: MQTT is muted by the owner; the notification is in the inbox.',
    },
    mqttError: { type: ['string', 'null'], description: 'The first MQTT error.' },
    warnings: {
      type: 'array',
      uniqueItems: true,
      description:
        '`quiet_hours`: a channel is muted by the owner, so the notification is not delivered over it, also not later; it ' +
        'is in the inbox. Severity critical ignores quiet hours. `mqtt_no_subscriber`: a device has never connected; the ' +
        'message is queued.',
      items: {
        enum: [...warnings],
      },
    },
    mqttEnabled: { type: 'boolean' },
    channels: {
      type: 'array',
      description: 'Targets of channels that have no fields of their own. Missing if no such channel is configured.',
      items: {
        type: 'object',
        required: ['channel', 'target', 'outcome'],
        additionalProperties: false,
        properties: {
          channel: { type: 'string' },
          target: {
            type: 'string',
            description: 'The id of the target; empty if the owner is the only target of the channel.',
          },
          outcome: { enum: ['sent', 'retry', 'gone', 'rejected'] },
          error: { type: 'string', description: 'Why it was not sent, for people. Missing if it was sent.' },
        },
      },
    },
  };
}

/** Present in some responses only. */
const conditional = new Set([
  ...['storeReason', 'emailSkipReason', 'mqttSkipReason', 'channels'],
  ...['time', 'event', 'topic', 'message'],
]);

function successSchema(): Json {
  const properties = {
    ok: { const: true },
    kind: { const: kind },
    id: { type: 'string', format: 'uuid', description: 'The id of the notification.' },
    ...reportProperties(),
    requestId: { type: 'string' },
    timestamp: time,
    time: { type: 'integer', description: 'Only for a message of ntfy: seconds since 1970.' },
    event: { const: 'message', description: 'Only for a message of ntfy.' },
    topic: { type: 'string', description: 'Only for a message of ntfy: its topic.' },
    message: { type: 'string', description: 'Only for a message of ntfy: its text.' },
  };
  return {
    type: 'object',
    required: Object.keys(properties).filter((name) => !conditional.has(name)),
    additionalProperties: false,
    properties,
  };
}

function errorSchema(): Json {
  return {
    type: 'object',
    description:
      'With `mqtt_publish_failed` it also has the id and the result of each channel: the notification stays stored.',
    required: ['ok', 'error', 'code', 'requestId', 'timestamp'],
    additionalProperties: false,
    properties: {
      ok: { const: false },
      error: { type: 'string' },
      code: { enum: Object.keys(errors) },
      details: {
        type: 'array',
        items: {
          type: 'object',
          required: ['field', 'problem'],
          additionalProperties: false,
          properties: { field: { type: 'string' }, problem: { type: 'string' } },
        },
      },
      id: { type: 'string', format: 'uuid' },
      ...reportProperties(),
      requestId: { type: 'string' },
      timestamp: time,
    },
  };
}

function metadataSchema(): Json {
  const texts: Json = { type: 'array', items: { type: 'string' } };
  return {
    type: 'object',
    required: [
      'ok',
      'kind',
      'service',
      'version',
      'methods',
      'contentTypes',
      'authentication',
      'limits',
      'channels',
      'links',
    ],
    additionalProperties: false,
    properties: {
      ok: { const: true },
      kind: { const: 'endpoint_metadata' },
      service: { type: 'string' },
      version: { type: 'string' },
      methods: texts,
      contentTypes: texts,
      authentication: { type: 'object' },
      limits: { type: 'object', additionalProperties: { type: 'integer' } },
      channels: texts,
      links: { type: 'object', additionalProperties: { type: 'string' } },
    },
  };
}
