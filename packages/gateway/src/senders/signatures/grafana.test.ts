import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import type { SignedRequest } from '../event.ts';
import { grafanaSignatureProblem } from './grafana.ts';

const seconds = 1_773_200_000;
// The secret and the body of TestHMACRoundTripper in github.com/grafana/alerting/http/hmac_test.go. The first digest is that
// of `printf 'test message' | openssl dgst -sha256 -hmac secret`, the second that of `1773200000:test message`.
const secret = 'secret';
const body = 'test message';
const bodyDigest = '3bcebf43c85d20bba6e3b6ba278af1d2ba3ab0d57de271b0ad30b833e851c5a6';
const timedDigest = '0ce216257770f981ad953596e664ae974a31d5f763c2db04a391df5b99937d1b';

function problemOf(headers: Record<string, string>, { text = body, late = 0 } = {}): string | null {
  const request = { headers } as unknown as SignedRequest['request'];
  return grafanaSignatureProblem({ request, rawBody: Buffer.from(text), secret, now: (seconds + late) * 1000 });
}

test('a signature of the body is valid', () => {
  assert.equal(problemOf({ 'x-grafana-alerting-signature': bodyDigest }), null);
  assert.equal(problemOf({ 'x-grafana-alerting-signature': bodyDigest, 'x-other-time': String(seconds) }), null);
});

test('a signature of the time and the body is valid, whatever the name of the header with the time', () => {
  for (const name of ['x-grafana-alerting-timestamp', 'x-time']) {
    const headers = { 'x-grafana-alerting-signature': timedDigest, [name]: String(seconds) };
    assert.equal(problemOf(headers), null);
    assert.equal(problemOf(headers, { late: 300 }), null);
    assert.match(problemOf(headers, { late: 301 }) ?? '', /300 s away/);
    assert.match(problemOf(headers, { late: -301 }) ?? '', /300 s away/);
  }
});

test('a signature with a time is not valid without its header, nor as that of a body that starts with the time', () => {
  const headers = { 'x-grafana-alerting-signature': timedDigest };
  assert.match(problemOf(headers) ?? '', /does not match/);
  assert.match(problemOf(headers, { text: `${seconds}:${body}` }) ?? '', /timestamp is missing/);
  assert.match(problemOf({ ...headers, 'x-time': String(seconds + 1) }) ?? '', /does not match/);
});

test('missing, empty, malformed and wrong signatures are problems', () => {
  const wrong = createHmac('sha256', 'another secret').update(body).digest('hex');
  assert.match(problemOf({}) ?? '', /missing/);
  for (const signature of [
    '',
    'sha256=',
    'zz',
    `${bodyDigest}00`,
    bodyDigest.slice(2),
    `sha256=${bodyDigest}`,
    wrong,
  ]) {
    assert.notEqual(problemOf({ 'x-grafana-alerting-signature': signature }), null, signature);
  }
  assert.notEqual(problemOf({ 'x-grafana-alerting-signature': bodyDigest }, { text: `${body} ` }), null);
});
