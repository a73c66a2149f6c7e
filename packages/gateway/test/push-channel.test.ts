// The push channel as a whole: routing to providers, disabled targets, and secrets that never appear in errors.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ApnsStandIn, apnsError } from '@tocsin/test-support/push-apns-stand-in.ts';
import { apnsToken, createTestPush, fcmToken, sampleNotification, target } from '@tocsin/test-support/push-channel.ts';
import { FcmStandIn, fcmError } from '@tocsin/test-support/push-fcm-stand-in.ts';
import type { NotSent, Outcome } from '../src/core/outcome.ts';

const clock = { now: sampleNotification.createdAt };

suite('The push channel', () => {
  test('sends every target to its provider and returns the outcomes in their order', async () => {
    const [fcm, apns] = await Promise.all([FcmStandIn.start(clock), ApnsStandIn.start(clock)]);
    const push = createTestPush({ fcm: fcm.config, apns: apns.config }, {}, clock);
    try {
      const targets = [
        target('apns', apnsToken('a')),
        target('webpush', push.webPush.subscribe()),
        target('fcm', fcmToken('gone')),
        target('fcm', fcmToken('phone')),
      ];
      fcm.replyToMessage = ({ token }) =>
        token.startsWith('gone') ? fcmError(404, 'NOT_FOUND', 'UNREGISTERED') : undefined;
      const outcomes = await push.send(targets);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ['sent', 'sent', 'gone', 'sent'],
      );
      assert.deepEqual([apns.accepted.length, push.webPush.received.length, fcm.accepted.length], [1, 1, 1]);
      assert.deepEqual(push.disabled, [targets[2]?.id]);
      assert.equal(await push.channel.check(), null);
    } finally {
      await push.channel.close();
      await Promise.all([fcm.server.stop(), apns.server.stop()]);
    }
  });

  test('a provider that is not configured is reported as such, and is not called', async () => {
    const push = createTestPush();
    const outcomes = await push.send([target('fcm', fcmToken('a')), target('apns', apnsToken('a'))]);
    assert.deepEqual(outcomes, [
      { kind: 'rejected', reason: 'not_configured', error: 'FCM is not configured: set TOCSIN_FCM_CREDENTIALS' },
      { kind: 'rejected', reason: 'not_configured', error: 'APNs is not configured: set TOCSIN_APNS_KEY' },
    ]);
    assert.equal(await push.channel.check(), null);
  });

  test('a provider that hangs does not delay the others', async () => {
    const fcm = await FcmStandIn.start(clock);
    const push = createTestPush({ fcm: fcm.config, timeoutMs: 300 }, {}, clock);
    fcm.replyToMessage = () => 'silence';
    try {
      const outcomes = await push.send([target('fcm', fcmToken('a')), target('webpush', push.webPush.subscribe())]);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ['retry', 'sent'],
      );
    } finally {
      await push.channel.close();
      await fcm.server.stop();
    }
  });

  test('a timeout of the caller counts against the provider, as our own deadline does', async () => {
    const push = createTestPush();
    push.webPush.reply = () => new Promise(() => undefined);
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(new DOMException('late', 'TimeoutError')), 50);
    const [outcome] = await push.send([target('webpush', push.webPush.subscribe())], { signal: controller.signal });
    clearTimeout(timer);
    assert.deepEqual(outcome, { kind: 'retry', reason: 'unreachable', error: 'Web Push did not respond in time' });
  });

  test('at most fifty targets of one notification are in flight at once, and all get it', async () => {
    const push = createTestPush();
    let running = 0;
    let most = 0;
    push.webPush.reply = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return { status: 201 };
    };
    const outcomes = await push.send(Array.from({ length: 170 }, () => target('webpush', push.webPush.subscribe())));
    assert.equal(outcomes.filter(({ kind }) => kind === 'sent').length, 170);
    assert.equal(most, 50);
  });

  test('a target that cannot be disabled is still reported as gone, and closing waits for the attempt', async () => {
    const { promise, reject } = Promise.withResolvers<void>();
    const push = createTestPush({}, { disable: () => promise });
    push.webPush.reply = () => ({ status: 410 });
    const [outcome] = await push.send([target('webpush', push.webPush.subscribe())]);
    assert.equal(outcome?.kind, 'gone');
    let isClosed = false;
    const closing = push.channel.close().then(() => {
      isClosed = true;
    });
    await new Promise(setImmediate);
    assert.equal(isClosed, false);
    reject(new Error('the store is unavailable'));
    await closing;
    assert.equal(isClosed, true);
  });

  test('no error contains a token, a key, an endpoint or text from a provider', async () => {
    const [fcm, apns] = await Promise.all([FcmStandIn.start(clock), ApnsStandIn.start(clock)]);
    const push = createTestPush({ fcm: fcm.config, apns: apns.config, timeoutMs: 500 }, {}, clock);
    const targets = [
      target('webpush', push.webPush.subscribe()),
      target('fcm', fcmToken('canary')),
      target('apns', apnsToken('c')),
      target('fcm', 'canary'),
      target('apns', 'canary'),
      target('webpush', '{"endpoint":"https://canary.test/canary","keys":{"p256dh":"canary","auth":"canary"}}'),
    ];
    const outcomes: Outcome[] = [];
    try {
      for (const status of [301, 400, 401, 403, 404, 410, 413, 418, 429, 500, 503]) {
        push.webPush.reply = () => ({ status });
        fcm.replyToMessage = ({ token }) => fcmError(status, `${token} canary`, token);
        apns.reply = (token) => apnsError(status, `canary ${token}`);
        outcomes.push(...(await push.send(targets)));
      }
      push.webPush.reply = (url) => {
        throw new TypeError(`canary ${url}`);
      };
      fcm.replyToMessage = (message) => ({ status: 400, body: `canary ${JSON.stringify(message)}` });
      fcm.replyToTokenRequest = () => ({ status: 200, body: { access_token: 'canary\r\nx: y' } });
      fcm.revokeAccessTokens();
      apns.reply = () => 'silence';
      outcomes.push(...(await push.send(targets)));
    } finally {
      await push.channel.close();
      await Promise.all([fcm.server.stop(), apns.server.stop()]);
    }
    const errors = outcomes.filter(({ kind }) => kind !== 'sent').map((outcome) => (outcome as NotSent).error);
    assert.equal(errors.length, 12 * targets.length);
    const [webPushToken] = targets.map(
      ({ token }) => JSON.parse(token.startsWith('{') ? token : '{}') as { endpoint: string },
    );
    for (const error of errors) {
      assert.doesNotMatch(error, /canary|c{20}|wpush|BEGIN|eyJ|ya29/, error);
      assert.ok(!error.includes(new URL(webPushToken?.endpoint ?? '').pathname));
      assert.ok(error.length < 300, 'one line');
    }
  });
});
