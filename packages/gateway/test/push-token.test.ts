import assert from 'node:assert/strict';
import { createECDH } from 'node:crypto';
import { suite, test } from 'node:test';
import { parseRetryAfter } from '../src/channels/push/retry-after.ts';
import { tokenProblem } from '../src/channels/push/token.ts';

const p256dh = createECDH('prime256v1').generateKeys('base64url');
const auth = Buffer.alloc(16, 7).toString('base64url');
const subscription = (endpoint: unknown, keys: unknown = { p256dh, auth }): string =>
  JSON.stringify({ endpoint, keys });
const problem = (token: string, hosts: string[] = []): string | null => tokenProblem('webpush', token, hosts);

suite('The validation of push tokens', () => {
  test('accepts subscriptions at the push services of the browsers', () => {
    for (const endpoint of [
      'https://fcm.googleapis.com/fcm/send/abc:def',
      'https://FCM.googleapis.com:443/wp/abc',
      'https://updates.push.services.mozilla.com/wpush/v2/abc',
      'https://web.push.apple.com/abc',
      'https://wns2-par02p.notify.windows.com/w/?token=abc',
    ]) {
      assert.equal(problem(subscription(endpoint)), null, endpoint);
    }
  });

  for (const endpoint of [
    'http://fcm.googleapis.com/x',
    'https://fcm.googleapis.com.evil.test/x',
    'https://fcm.googleapis.com./x',
    'https://evilfcm.googleapis.com/x',
    'https://evilpush.apple.com/x',
    'https://push.apple.com/x',
    'https://.push.apple.com/x',
    'https://evil.test/.push.apple.com',
    'https://evil.test#.push.apple.com',
    'https://user@fcm.googleapis.com/x',
    'https://fcm.googleapis.com@evil.test/x',
    'https://fcm.googleapis.com:8443/x',
    'https://127.0.0.1/x',
    'https://[::1]/x',
    'https://localhost/x',
    'https://169.254.169.254/latest',
    `https://fcm.googleapis.com/${'x'.repeat(3000)}`,
    'file:///etc/passwd',
    '',
    7,
    null,
  ]) {
    test(`refuses a subscription at ${String(endpoint).slice(0, 60)}`, () => {
      const found = problem(subscription(endpoint));
      assert.ok(found !== null);
      if (typeof endpoint === 'string' && endpoint !== '')
        assert.ok(!found.includes(endpoint), 'it shows the endpoint');
    });
  }

  test('accepts further push services that the operator configured, each only on its port', () => {
    const hosts = ['push.example.net:8443', '*.example.org'];
    assert.equal(problem(subscription('https://push.example.net:8443/x'), hosts), null);
    assert.equal(problem(subscription('https://a.example.org/x'), hosts), null);
    for (const endpoint of ['https://push.example.net/x', 'https://example.org/x', 'https://a.example.org:8443/x']) {
      assert.ok(problem(subscription(endpoint), hosts) !== null, endpoint);
    }
  });

  test('refuses invalid keys', () => {
    const offCurve = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)]).toString('base64url');
    const compressed = createECDH('prime256v1').generateKeys('base64url', 'compressed');
    for (const keys of [
      null,
      {},
      { p256dh },
      { p256dh: offCurve, auth },
      { p256dh: compressed, auth },
      { p256dh: '!', auth },
      { p256dh, auth: auth.slice(2) },
      { p256dh, auth: `${auth}AA` },
    ]) {
      assert.ok(problem(subscription('https://fcm.googleapis.com/x', keys)) !== null, JSON.stringify(keys));
    }
    for (const text of ['', 'null', '[]', '"x"', '{', 'abc']) assert.match(problem(text) ?? '', /PushSubscription/);
  });

  test('recognizes FCM and APNs tokens by their format', () => {
    assert.equal(tokenProblem('fcm', `dXyz_-1:APA91b${'A'.repeat(120)}`, []), null);
    for (const token of ['', 'short', 'a'.repeat(5000), `${'a'.repeat(40)} b`, `${'a'.repeat(40)}\r\nx`, '{"a":1}']) {
      assert.match(tokenProblem('fcm', token, []) ?? '', /letters/);
    }
    assert.equal(tokenProblem('apns', 'aF'.repeat(32), []), null);
    assert.equal(tokenProblem('apns', 'a0'.repeat(100), []), null);
    for (const token of ['', 'a'.repeat(63), 'a'.repeat(65), 'a'.repeat(202), `${'a'.repeat(63)}/`, 'g'.repeat(64)]) {
      assert.match(tokenProblem('apns', token, []) ?? '', /hexadecimal/);
    }
  });

  test('Retry-After is seconds or a date, at most a day, and anything else is ignored', () => {
    const now = Date.parse('2026-11-15T12:00:00Z');
    assert.equal(parseRetryAfter('120', now), 120_000);
    assert.equal(parseRetryAfter('Sun, 15 Nov 2026 12:01:00 GMT', now), 60_000);
    assert.equal(parseRetryAfter('Sun, 15 Nov 2026 11:00:00 GMT', now), 0);
    assert.equal(parseRetryAfter('999999999', now), 86_400_000);
    for (const value of [undefined, '', 'soon', '-5', '1.5', ['1', '2']]) {
      assert.equal(parseRetryAfter(value, now), undefined);
    }
  });
});
