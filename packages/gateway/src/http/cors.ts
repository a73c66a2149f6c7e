// Any page may call the gateway: the key authenticates it, not the origin. No cookies are involved, so `*` is safe.
export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed',
} as const;

export const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET, POST, OPTIONS',
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, X-API-Key, X-SERVICE-Key, X-Timestamp, X-Signature, Idempotency-Key',
  'Access-Control-Max-Age': '86400',
} as const;

/** Sent with every response, including errors. */
export const responseHeaders = { ...corsHeaders, 'X-Content-Type-Options': 'nosniff' } as const;
