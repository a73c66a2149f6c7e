import { contentTypes, keyHeaders, limits, notifyKeyTypes, signatureHeaders } from '@tocsin/contract';

/** Response to GET /: information for callers, without credentials or host names. */
export function endpointMetadata(version: string, maxBodyBytes: number, channels: readonly string[]) {
  return {
    ok: true,
    kind: 'endpoint_metadata',
    service: 'Tocsin',
    version,
    methods: ['GET', 'HEAD', 'POST', 'OPTIONS'],
    contentTypes,
    authentication: {
      headers: keyHeaders,
      recommended: 'Authorization: Bearer <API_KEY>',
      keyTypes: notifyKeyTypes,
      signature: { headers: Object.values(signatureHeaders), algorithm: 'HMAC-SHA256' },
    },
    limits: { ...limits, requestBytes: maxBodyBytes },
    channels,
    links: { openapi: '/?format=openapi' },
  };
}
