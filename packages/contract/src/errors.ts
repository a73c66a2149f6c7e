// All errors of the public API: those of section 7 of the contract, and those that the service adds.

export const errors = {
  invalid_body: {
    status: 400,
    text: 'Invalid request body',
    when: 'The body could not be parsed or a field has the wrong type.',
  },
  empty_payload: {
    status: 400,
    text: 'Request payload is empty',
    when: 'No notification field with a value was sent.',
  },
  authorization_required: {
    status: 401,
    text: 'Authorization required',
    when: 'No key was supplied, or two different ones.',
  },
  invalid_api_key: { status: 401, text: 'Invalid API key', when: 'The key is unknown, revoked or expired.' },
  key_type_not_allowed: {
    status: 401,
    text: 'API key type not allowed for this endpoint',
    when: 'The key type is not public_client or internal_service; the text ends with the type.',
  },
  origin_not_allowed: {
    status: 401,
    text: 'Origin is not allowed for this API key',
    when: 'The key has allowed domains and the Origin or Referer is none of them.',
  },
  invalid_signature: {
    status: 401,
    text: 'Invalid request signature',
    when: 'The signature is incomplete, wrong, too old, already used, or required and missing.',
  },
  authentication_unavailable: {
    status: 401,
    text: 'Authentication service unavailable',
    when: 'The key could not be verified because the store did not respond.',
  },
  device_not_found: {
    status: 404,
    text: 'Device not found for user',
    when: 'deviceId does not belong to the owner of the key.',
  },
  not_found: {
    status: 404,
    text: 'Not found',
    when: 'Any path but /, the addresses of hooks, and those of other protocols.',
  },
  method_not_allowed: { status: 405, text: 'Method not allowed', when: 'Any method but GET, HEAD, POST and OPTIONS.' },
  request_timeout: { status: 408, text: 'Request timeout', when: 'Headers or body did not arrive in time.' },
  device_not_publishable: {
    status: 409,
    text: 'Device is inactive or paused',
    when: 'The device exists but does not receive messages at the moment.',
  },
  idempotency_in_progress: {
    status: 409,
    text: 'A request with this Idempotency-Key is in progress',
    when: 'The first request with this Idempotency-Key is still in progress.',
  },
  body_too_large: {
    status: 413,
    text: 'Request body too large',
    when: 'The body is larger than the limit in the metadata.',
  },
  unsupported_content_type: {
    status: 415,
    text: 'Unsupported content type',
    when: 'The content type, its charset or a content encoding is not accepted.',
  },
  idempotency_mismatch: {
    status: 422,
    text: 'Idempotency-Key was used with a different request',
    when: 'The Idempotency-Key belongs to another body.',
  },
  rate_limited: {
    status: 429,
    text: 'Too many requests',
    when: 'A rate limit was reached; Retry-After says when to retry.',
  },
  quota_exceeded: {
    status: 429,
    text: 'Quota exceeded',
    when: 'The daily quota of the owner is used up; Retry-After says when to retry.',
  },
  internal: {
    status: 500,
    text: 'Internal error',
    when: 'A bug in the service; its log has the cause under the requestId.',
  },
  mqtt_publish_failed: {
    status: 502,
    text: 'MQTT publish failed',
    when: 'strictDelivery was true and a publish failed.',
  },
  service_unavailable: {
    status: 503,
    text: 'Service unavailable',
    when: 'Only of a hook: the event could not be stored, or its rate limit was reached; Retry-After says when to retry.',
  },
} as const satisfies Record<string, { status: number; text: string; when: string }>;

export type ErrorCode = keyof typeof errors;

/** What requests to a hook are refused with. */
export const hookErrors = [
  'invalid_body',
  'empty_payload',
  'invalid_signature',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'body_too_large',
  'unsupported_content_type',
  'internal',
  'service_unavailable',
] as const satisfies readonly ErrorCode[];

/** What `POST /` is refused with. */
export const notifyErrors = (Object.keys(errors) as ErrorCode[]).filter((code) => code !== 'service_unavailable');
