// The Idempotency-Key header: a caller that is not sure whether a request arrived sends it again under the same key.

import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { dayMs } from '../core/duration.ts';
import type { BodyFormat } from '../core/parse-body.ts';
import { Refusal } from '../core/refusal.ts';
import type { IdempotencyClaim } from '../usecases/ports/index.ts';

const keptMs = dayMs;
const maxLength = 255;
const visible = /^[\x21-\x7e]+$/;

/** null: the caller sent none. Only digests of the key and the body are stored. */
export function readIdempotencyKey(
  headers: IncomingHttpHeaders,
  body: { format: BodyFormat; raw: Buffer },
  now: number,
): IdempotencyClaim | null {
  const key = headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || key.length > maxLength || !visible.test(key)) {
    const problem = `must be one key of 1 to ${maxLength} visible characters, such as a UUID`;
    throw new Refusal('invalid_body', { details: [{ field: 'Idempotency-Key', problem }] });
  }
  return {
    keyDigest: createHash('sha256').update(key).digest('base64url'),
    // The HMAC key is not stored, so an attacker with the database cannot guess bodies.
    fingerprint: createHmac('sha256', key).update(body.format).update('\n').update(body.raw).digest('base64url'),
    expiresAt: now + keptMs,
  };
}
