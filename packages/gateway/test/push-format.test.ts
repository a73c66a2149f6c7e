// The payload for each provider: its fields, and that it always fits.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { categories, type JsonObject, severities } from '@tocsin/contract';
import { sampleNotification as sample } from '@tocsin/test-support/push-channel.ts';
import fc from 'fast-check';
import {
  apnsPayload,
  fcmMessage,
  timeToLiveSeconds,
  topicOf,
  urgencyOf,
  webPushPayload,
} from '../src/channels/push/format.ts';
import type { Notification } from '../src/usecases/ports/index.ts';

const day = 86_400;

/** Text of every kind: plain, emoji, control characters, lone surrogates; short and far too long. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 }).map((units) => String.fromCharCode(...units)),
  fc
    .tuple(fc.constantFrom('x', '\u0001', '"', '🚨', 'é', '\ud83d', '日'), fc.integer({ min: 0, max: 6000 }))
    .map(([unit, count]) => unit.repeat(count)),
);

const anyNotification: fc.Arbitrary<Notification> = fc.record({
  id: fc.uuid(),
  ownerId: fc.constant('own_1'),
  createdAt: fc.integer({ min: 0, max: 4_102_444_800_000 }),
  content: fc.record({
    title: text,
    body: text,
    source: text,
    category: fc.constantFrom(...categories),
    severity: fc.constantFrom(...severities, null),
    data: fc.oneof(
      fc.dictionary(text, fc.jsonValue(), { maxKeys: 5 }) as fc.Arbitrary<JsonObject>,
      fc.integer({ min: 0, max: 6000 }).map((count) => ({ blob: 'x'.repeat(count) })),
    ),
  }),
});

function parseStrictly(payload: Buffer): Record<string, unknown> {
  const value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload)) as Record<string, unknown>;
  assert.ok(JSON.stringify(value) === JSON.stringify(value).toWellFormed());
  assert.doesNotMatch(JSON.stringify(value), /(?<!\\)(\\\\)*\\ud[89a-f]/, 'a lone surrogate');
  return value;
}

suite('The payloads of a push notification', () => {
  test('Web Push carries every field', () => {
    assert.deepEqual(JSON.parse(webPushPayload(sample).toString()), {
      id: sample.id,
      type: 'external_notification',
      title: sample.content.title,
      body: sample.content.body,
      source: 'cron',
      category: 'task',
      severity: 'critical',
      data: { host: 'db-1', attempts: 3 },
      createdAt: '2026-11-15T12:00:00.000Z',
    });
  });

  test('any notification fits Web Push in 3,800 bytes and stays valid JSON in UTF-8', () => {
    fc.assert(
      fc.property(anyNotification, (notification) => {
        const payload = webPushPayload(notification);
        assert.ok(payload.length <= 3800, `${payload.length} bytes`);
        const { id, body, title, data } = parseStrictly(payload);
        assert.equal(id, notification.id);
        assertIsCutOf(body as string, notification.content.body);
        assertIsCutOf(title as string, notification.content.title);
        const { data: whole } = notification.content;
        assert.ok(data === undefined || Object.keys(data as object).length <= Object.keys(whole).length);
      }),
      { numRuns: 500 },
    );
  });

  test('any notification fits APNs in 4,096 bytes and stays valid JSON in UTF-8', () => {
    fc.assert(
      fc.property(anyNotification, (notification) => {
        const payload = apnsPayload(notification);
        assert.ok(payload.length <= 4096, `${payload.length} bytes`);
        const { aps } = parseStrictly(payload) as { aps: { alert: { title: string; body: string } } };
        assertIsCutOf(aps.alert.body, notification.content.body);
        assertIsCutOf(aps.alert.title, notification.content.title);
      }),
      { numRuns: 500 },
    );
  });

  test('any notification fits FCM in 4,000 bytes, and every value of its data is a string', () => {
    fc.assert(
      fc.property(anyNotification, (notification) => {
        const payload = Buffer.from(JSON.stringify(fcmMessage(notification, notification.createdAt, day)));
        assert.ok(payload.length <= 4000, `${payload.length} bytes`);
        const message = parseStrictly(payload) as { notification: { body: string }; data: Record<string, string> };
        assertIsCutOf(message.notification.body, notification.content.body);
        for (const [name, value] of Object.entries(message.data)) assert.equal(typeof value, 'string', name);
        if (message.data.data !== undefined) assert.doesNotThrow(() => JSON.parse(message.data.data as string));
      }),
      { numRuns: 500 },
    );
  });

  test('the data is dropped first, and the body is complete as long as it fits without data', () => {
    const content = { ...sample.content, body: 'b'.repeat(2000), data: { blob: 'x'.repeat(3000) } };
    const payload = JSON.parse(webPushPayload({ ...sample, content }).toString()) as Record<string, unknown>;
    assert.equal(payload.data, undefined);
    assert.equal(payload.truncated, true);
    assert.equal(payload.body, content.body);
  });

  test('a body that is too long fills the limit to the last byte and ends in an ellipsis, never inside a character', () => {
    const payload = webPushPayload({ ...sample, content: { ...sample.content, body: '🚨'.repeat(2000) } });
    const { body } = JSON.parse(payload.toString()) as { body: string };
    assert.match(body, /^(🚨)+…$/u);
    assert.ok(payload.length > 3800 - 4, 'one more would not have fitted');
    const { truncated } = JSON.parse(webPushPayload(sample).toString()) as { truncated?: true };
    assert.equal(truncated, undefined, 'a payload that fits is not marked as truncated');
  });

  test('errors have high urgency, advertising has low urgency, and everything else is normal', () => {
    const urgencies = severities.map((severity) => urgencyOf({ severity, category: 'info' }));
    assert.deepEqual(urgencies, ['normal', 'normal', 'high', 'high']);
    assert.equal(urgencyOf({ severity: null, category: 'task' }), 'normal');
    assert.equal(urgencyOf({ severity: null, category: 'promo' }), 'low');
    assert.equal(urgencyOf({ severity: 'critical', category: 'promo' }), 'high');
  });

  test('a provider keeps a message no longer than we do, and at most four weeks', () => {
    assert.equal(timeToLiveSeconds(0, 0, 0), 28 * day);
    assert.equal(timeToLiveSeconds(0, 0, 90), 28 * day);
    assert.equal(timeToLiveSeconds(0, 0, 7), 7 * day);
    assert.equal(timeToLiveSeconds(0, 2 * day * 1000, 7), 5 * day);
    assert.equal(timeToLiveSeconds(0, 8 * day * 1000, 7), 0);
  });

  test('a topic has 32 URL-safe characters, always the same for one id', () => {
    assert.match(topicOf('a'), /^[A-Za-z0-9_-]{32}$/);
    assert.equal(topicOf('a'), topicOf('a'));
    assert.notEqual(topicOf('a'), topicOf('b'));
  });
});

/** The whole text, or a prefix of it with an ellipsis; invalid characters are replaced by the replacement character. */
function assertIsCutOf(sent: string, original: string): void {
  const whole = original.toWellFormed();
  if (sent === whole) return;
  assert.ok(sent.endsWith('…'));
  const start = sent.slice(0, -1);
  assert.ok(whole.startsWith(start));
  assert.ok(start.isWellFormed(), 'cut inside a character');
}
