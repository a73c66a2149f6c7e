// The signature of a request (docs/callers.md#signed-requests): lowercase hex HMAC-SHA256 of timestamp + raw body, keyed
// with the API key.
import { createHmac, timingSafeEqual } from 'node:crypto';

export const signatureHeaders = { timestamp: 'X-Timestamp', signature: 'X-Signature' } as const;

/** Maximum difference between the timestamp and the server's clock, in either direction. */
export const signatureWindowMs = 5 * 60 * 1000;

// Timestamp and body are joined without a separator, so ("1…0", "1 hi") and ("1…01", " hi") would have the
// same signature. Accepting exactly 13 digits prevents that.
const timestampShape = /^\d{13}$/;
const signatureShape = /^[0-9a-f]{64}$/;

export function sign(apiKey: string, timestamp: string, rawBody: string | Uint8Array): string {
  return createHmac('sha256', apiKey).update(timestamp).update(rawBody).digest('hex');
}

export function isSignatureValid(
  signed: { apiKey: string; timestamp: string; rawBody: string | Uint8Array; signature: string },
  nowMs: number,
): boolean {
  if (!timestampShape.test(signed.timestamp) || !signatureShape.test(signed.signature)) return false;
  if (Math.abs(nowMs - Number(signed.timestamp)) > signatureWindowMs) return false;
  const expected = sign(signed.apiKey, signed.timestamp, signed.rawBody);
  return timingSafeEqual(Buffer.from(expected, 'hex'), Buffer.from(signed.signature, 'hex'));
}
