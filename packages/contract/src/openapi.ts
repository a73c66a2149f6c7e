// The machine-readable description of the API, built from the same constants that the service works with.
import { type ErrorCode, errors } from './errors.ts';
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
import { notifyKeyTypes } from './keys.ts';
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
      summary: 'One POST rings push, email and MQTT.',
      description:
        'Accepts one notification per request, stores it encrypted, tells the owner over push, email and MQTT, and answers ' +
        'with what really happened on each channel.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The host that served this document' }],
    paths: { '/': { get: getOperation(), head: headOperation(), post: postOperation(), options: optionsOperation() } },
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
      'Store first, then tell: a 200 with `stored` true means that the encrypted notification is on disk. Failures of single ' +
      'channels are reported in the answer and do not fail the request, unless `strictDelivery` asks for it.',
    security: [{ bearer: [] }, { apiKeyHeader: [] }, { serviceKeyHeader: [] }],
    parameters: [
      {
        name: signatureHeaders.timestamp,
        in: 'header',
        description: `Milliseconds since 1970, 13 digits, within ${signatureWindowMs / 60_000} minutes. Needed with ${signatureHeaders.signature}.`,
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
          'Makes the request safe to repeat: the same request under the same key is done once and gets the first answer for 24 hours, whichever key of the owner it comes with.',
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
        description: 'Processed; the fields say what happened on each channel.',
        headers: {
          ...commonHeaders(),
          RateLimit: headerRef('RateLimit'),
          'RateLimit-Policy': headerRef('RateLimitPolicy'),
          'Idempotency-Replayed': headerRef('IdempotencyReplayed'),
        },
        content: { [jsonType]: { schema: ref('Notified') } },
      },
      ...errorResponses(Object.keys(errors) as ErrorCode[]),
    },
  };
}

function getOperation(): Json {
  return {
    operationId: 'describe',
    summary: 'What this endpoint is and takes',
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
    summary: 'The headers of GET',
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
        description: 'Any origin may call; the key decides.',
        headers: {
          ...commonHeaders(),
          'Access-Control-Allow-Methods': text('The methods a page may use.'),
          'Access-Control-Allow-Headers': text('The headers a page may send.'),
          'Access-Control-Max-Age': text('How long a browser may remember this, in seconds.'),
        },
      },
    },
  };
}

/** One response per status, with the codes that carry it. */
function errorResponses(codes: readonly ErrorCode[]): Json {
  const byStatus = Map.groupBy(codes, (code) => errors[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [
      String(status),
      {
        description: ofStatus.map((code) => `\`${code}\`: ${errors[code].when}`).join('\n\n'),
        headers: { ...commonHeaders(), ...([409, 429].includes(status) && { 'Retry-After': headerRef('RetryAfter') }) },
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
    RequestId: header('Names this request in the log of the service.', 'req_Zk3rXw9v1a'),
    RetryAfter: header('Seconds to wait.', '30'),
    IdempotencyReplayed: header('Only on an answer that was given before: the request was not done again.', 'true'),
    RateLimit: header(
      'What is left of the limit, where one is set: r requests, reset in t seconds.',
      '"key";r=99;t=60',
    ),
    RateLimitPolicy: header('The limit, where one is set: q requests in w seconds.', '"key";q=100;w=60'),
  };
}

function requestSchema(): Json {
  const text = (description: string, maxLength: number, fallback: string): Json => ({
    type: ['string', 'number', 'boolean', 'null'],
    description: `${description} White space at the ends is dropped, then it is cut to ${maxLength} characters.`,
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
    { description: `Stands in for \`${field}\` where that is absent or blank; otherwise it is data.` },
  ]);
  return {
    type: 'object',
    description:
      'At least one of title, body, message, category, severity, a non-empty payload or a non-empty data is needed. Fields ' +
      'that are not listed here are kept and merged into the data, over payload, which goes over data.',
    maxProperties: limits.topLevelFields,
    properties: {
      title: text('The headline.', limits.titleCharacters, defaults.title),
      body: text('The text.', limits.bodyCharacters, defaults.body),
      source: text('Where it comes from.', limits.sourceCharacters, defaults.source),
      category: {
        type: ['string', 'number', 'boolean', 'null'],
        description: `One of ${categories.join(', ')}, or a word that means one; anything else is ${defaults.category}. Also read from payload, then data.`,
        default: defaults.category,
        examples: [...categories],
      },
      severity: {
        type: ['string', 'number', 'boolean', 'null'],
        description: `One of ${severities.join(', ')}, or a word that means one; anything else is none. Also read from payload, then data.`,
        default: defaults.severity,
        examples: [...severities],
      },
      sendPush: toggle('Whether to try push.', true),
      sendEmail: toggle("Whether to send mail, for this request; the account's preference decides otherwise."),
      sendMqtt: toggle('Whether to publish over MQTT.', true),
      strictDelivery: toggle('Whether a failed MQTT publish fails the request with 502.', false),
      deviceId: {
        type: ['string', 'number', 'boolean', 'null'],
        description: 'Publish to this device alone; all active devices otherwise.',
      },
      mqttQos: {
        description: 'MQTT quality of service; the digit may come as text.',
        enum: [...qosLevels, ...qosLevels.map(String), '', null],
        default: defaults.mqttQos,
      },
      mqttConnection: {
        type: ['object', 'string', 'null'],
        description: '`custom` publishes through the broker in `mqttConfig`, for this request.',
        properties: { mode: { enum: [...connectionModes, null], default: connectionModes[0] } },
      },
      mqttConfig: {
        description:
          'Needed with mode custom and ignored otherwise; never stored, never shown. A form sends it as JSON text.',
        anyOf: [ref('MqttConfig'), { type: ['string', 'null'] }],
      },
      payload: metadata('Metadata, merged over `data`. JSON text is read as the object it holds.'),
      data: metadata('More metadata. JSON text is read as the object it holds.'),
      message: { description: 'Stands in for `body` where that is absent, and stays in the data.' },
      ...Object.fromEntries(aliasFields),
    },
    additionalProperties: true,
  };
}

function mqttConfigSchema(): Json {
  return {
    type: 'object',
    description:
      'A broker reached over WebSocket with TLS at a public address: `url`, or `host` with `port` and `path`. The spellings ' +
      'brokerUrl, hostname, user, pass and websocketPath are understood too.',
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
    pushSent: { type: 'boolean', description: 'At least one push token took it.' },
    pushAttempted: { ...count, description: 'Push tokens that a provider was asked to deliver to.' },
    pushEnabled: { type: 'boolean' },
    emailEnabled: { type: 'boolean', description: 'False also in the quiet hours of the owner.' },
    emailSent: { type: 'boolean', description: 'The mail server accepted it.' },
    emailSkipReason: {
      enum: ['no_address', 'disabled_by_owner', 'disabled_by_request', 'not_configured', 'quiet_hours'],
      description:
        'Only when no email was attempted. `no_address`: the owner has no email address. `disabled_by_owner`: the owner ' +
        'switched email off and the request did not set `sendEmail`. `not_configured`: the server has no mail server.',
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
      description: 'Only when skipped. `quiet_hours`: the owner wants no MQTT now; it is in the inbox.',
    },
    mqttError: { type: ['string', 'null'], description: 'The first MQTT error.' },
    warnings: {
      type: 'array',
      uniqueItems: true,
      description:
        '`quiet_hours`: the owner wants a channel silent now, so it was not used and will not be later; the notification is ' +
        'in the inbox. With severity critical it rings all the same. `mqtt_no_subscriber`: a device has never connected; ' +
        'the message waits in its queue.',
      items: {
        enum: [
          'mqtt_publish_failed_partial',
          'mqtt_no_subscriber',
          'push_failed_partial',
          'email_send_failed',
          'redelivery_scheduled',
          'quiet_hours',
        ],
      },
    },
    mqttEnabled: { type: 'boolean' },
  };
}

/** Present in some answers only. */
const conditional = new Set(['storeReason', 'emailSkipReason', 'mqttSkipReason']);

function successSchema(): Json {
  const properties = {
    ok: { const: true },
    kind: { const: kind },
    id: { type: 'string', format: 'uuid', description: 'The id of the notification.' },
    ...reportProperties(),
    requestId: { type: 'string' },
    timestamp: time,
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
      'With `mqtt_publish_failed` it also carries the id and what happened on each channel: the notification stays stored.',
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
