import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import type { SenderRequest } from '../event.ts';
import { sentry } from './sentry.ts';

const secret = 'client secret';
const rawBody = Buffer.from('{"action":"created","data":{"issue":{"title":"Zähler fehlt"}}}');

function problemOf(signature: string | undefined): string | null | undefined {
  const request = { headers: { 'sentry-hook-signature': signature } } as unknown as SenderRequest;
  return sentry.signatureProblem?.({ request, rawBody, secret, now: 0 });
}

// Sentry publishes no example with a secret: its documentation says that the digest is hex HMAC-SHA256 of the body with the
// client secret. This one is from `openssl dgst -sha256 -hmac 'client secret'`.
test('the digest of the body with the client secret is valid', () => {
  assert.equal(problemOf('2941265621572ffe45527b3d74dd9835eca4960d6434047b6483a8199500be51'), null);
});

test('missing, empty, malformed and wrong signatures are problems', () => {
  const wrong = createHmac('sha256', 'another secret').update(rawBody).digest('hex');
  for (const signature of [undefined, '', ' ', '0', 'x'.repeat(64), wrong]) {
    assert.equal(typeof problemOf(signature), 'string', String(signature));
  }
});
