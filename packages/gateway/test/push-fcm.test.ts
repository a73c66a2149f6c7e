// FCM against a fake that checks the assertion, the access token and every field of the message.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, afterEach, before, beforeEach, suite, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import {
  createTestPush,
  fcmToken,
  sampleNotification,
  type TestPush,
  target,
} from '@tocsin/test-support/push-channel.ts';
import { FcmStandIn, fcmError } from '@tocsin/test-support/push-fcm-stand-in.ts';
import { countSockets } from '@tocsin/test-support/push-sockets.ts';
import { createTestAuthority, type TestAuthority } from '@tocsin/test-support/tls-ca.ts';
import type { PushDeps } from '../src/channels/push/sender.ts';
import type { Rejected, Retry } from '../src/core/outcome.ts';
import { Problem } from '../src/core/problem.ts';

suite('FCM', () => {
  let fcm: FcmStandIn;
  let push: TestPush;
  let authority: TestAuthority;
  const channels: TestPush[] = [];
  const phone = target('fcm', fcmToken('phone'));

  function open(timeoutMs = 5000, parts: Partial<PushDeps> = {}, config = fcm.config): TestPush {
    const opened = createTestPush({ fcm: config, timeoutMs }, parts, fcm.clock);
    channels.push(opened);
    return opened;
  }

  before(() => {
    authority = createTestAuthority();
  });
  after(() => authority.remove());
  beforeEach(async () => {
    fcm = await FcmStandIn.start({ now: sampleNotification.createdAt });
    push = open();
  });
  afterEach(async () => {
    await Promise.all(channels.splice(0).map(({ channel }) => channel.close()));
    await fcm.server.stop();
  });

  test('gets the message with all fields', async () => {
    assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
    const { id, content } = sampleNotification;
    const { title, body } = content;
    assert.deepEqual(fcm.accepted, [
      {
        token: phone.token,
        notification: { title, body },
        data: {
          id,
          type: 'external_notification',
          source: 'cron',
          category: 'task',
          severity: 'critical',
          data: '{"host":"db-1","attempts":3}',
          createdAt: '2026-11-15T12:00:00.000Z',
        },
        android: { priority: 'HIGH', ttl: '2419200s', collapse_key: id, notification: { tag: id } },
        apns: {
          headers: {
            'apns-priority': '10',
            'apns-expiration': String(sampleNotification.createdAt / 1000 + 2_419_200),
            'apns-collapse-id': id,
          },
          payload: { aps: { sound: 'default', 'interruption-level': 'time-sensitive' } },
        },
      },
    ]);
  });

  test('works over TLS with a certificate of the right authority, and with no other', async () => {
    const secure = await FcmStandIn.start(fcm.clock, authority.issue('IP:127.0.0.1'));
    try {
      assert.deepEqual(await open(5000, { ca: authority.ca }, secure.config).send([phone]), [{ kind: 'sent' }]);
      const [outcome] = (await open(5000, {}, secure.config).send([phone])) as [Retry];
      assert.equal(outcome.kind, 'retry');
      assert.equal(outcome.reason, 'unreachable');
      assert.match(outcome.error, /Google's token service cannot be reached \([A-Z_]+\)/);
      assert.equal(secure.accepted.length, 1);
    } finally {
      await secure.server.stop();
    }
  });

  test('a hundred sends at once fetch one access token and share one session each to FCM and the token service', async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => push.send([phone])));
    assert.ok(outcomes.flat().every(({ kind }) => kind === 'sent'));
    assert.equal(fcm.accepted.length, 100);
    assert.equal(fcm.tokenRequests, 1);
    assert.equal(fcm.server.sessionCount, 2);
  });

  test('the access token is reused, and renewed before it expires', async () => {
    await push.send([phone]);
    fcm.clock.now += 50 * 60_000;
    await push.send([phone]);
    assert.equal(fcm.tokenRequests, 1);
    fcm.clock.now += 6 * 60_000;
    assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
    assert.equal(fcm.tokenRequests, 2);
  });

  test('a token service that fails does no harm while the old access token is valid', async () => {
    await push.send([phone]);
    fcm.replyToTokenRequest = () => ({ status: 503 });
    fcm.clock.now += 56 * 60_000;
    assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
    fcm.clock.now += 10 * 60_000;
    const [outcome] = (await push.send([phone])) as [Retry];
    assert.equal(outcome.kind, 'retry');
    assert.match(outcome.error, /token service cannot answer now \(503\)/);
  });

  test('after a 401 the access token is fetched once more, shared by all sends', async () => {
    await push.send([phone]);
    fcm.revokeAccessTokens();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => push.send([phone])));
    assert.ok(outcomes.flat().every(({ kind }) => kind === 'sent'));
    assert.equal(fcm.tokenRequests, 2);
  });

  test('a 401 for an access token that was replaced meanwhile does not invalidate the new one', async () => {
    let held: ServerHttp2Stream | undefined;
    fcm.replyToMessage = (_message, { stream }) => {
      held = stream;
      return 'silence';
    };
    const request = fcm.server.nextRequest();
    const slow = push.send([phone]);
    await request;
    while (held === undefined) await fcm.server.nextRequest();
    fcm.replyToMessage = () => undefined;
    fcm.revokeAccessTokens();
    assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
    held.respond({ ':status': 401 });
    held.end();
    assert.deepEqual(await slow, [{ kind: 'sent' }]);
    assert.equal(fcm.tokenRequests, 2);
  });

  test('a second 401 is a retry, not a loop', async () => {
    let asked = 0;
    fcm.replyToMessage = () => {
      asked += 1;
      return fcmError(401, 'UNAUTHENTICATED');
    };
    const [outcome] = (await push.send([phone])) as [Retry];
    assert.equal(outcome.kind, 'retry');
    assert.equal(asked, 2);
    assert.equal(fcm.tokenRequests, 2);
    assert.deepEqual(push.disabled, []);
  });

  for (const [name, reply, kind, wanted] of [
    ['UNREGISTERED', fcmError(404, 'NOT_FOUND', 'UNREGISTERED'), 'gone', /UNREGISTERED/],
    ['NOT_FOUND', fcmError(404, 'NOT_FOUND'), 'gone', /UNREGISTERED/],
    ['a 404 that is not from FCM', { status: 404, body: '<html>' }, 'retry', /404/],
    ['INVALID_ARGUMENT', fcmError(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT'), 'rejected', /INVALID_ARGUMENT/],
    ['SENDER_ID_MISMATCH', fcmError(403, 'PERMISSION_DENIED', 'SENDER_ID_MISMATCH'), 'rejected', /another project/],
    ['PERMISSION_DENIED', fcmError(403, 'PERMISSION_DENIED'), 'rejected', /403/],
    ['THIRD_PARTY_AUTH_ERROR', fcmError(401, 'UNAUTHENTICATED', 'THIRD_PARTY_AUTH_ERROR'), 'rejected', /APNs key/],
    ['QUOTA_EXCEEDED', fcmError(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'), 'retry', /fewer/],
    ['UNAVAILABLE', fcmError(503, 'UNAVAILABLE', 'UNAVAILABLE'), 'retry', /503/],
    ['INTERNAL', fcmError(500, 'INTERNAL', 'INTERNAL'), 'retry', /500/],
    ['a redirect', { status: 302 }, 'retry', /302/],
  ] as const) {
    test(`${name} means ${kind}`, async () => {
      fcm.replyToMessage = () => ({ ...reply, headers: { 'retry-after': '12' } });
      const [outcome] = (await push.send([phone])) as [Retry];
      assert.equal(outcome.kind, kind);
      assert.match(outcome.error, wanted);
      assert.doesNotMatch(outcome.error, /canary/, 'text from the provider is not passed on');
      assert.equal(outcome.retryAfterMs, kind === 'retry' ? 12_000 : undefined);
      if (kind === 'retry') assert.equal(outcome.reason, 'deferred');
      assert.deepEqual(push.disabled, kind === 'gone' ? [phone.id] : []);
      assert.equal(fcm.tokenRequests, 1);
    });
  }

  test('one unregistered phone does not affect the others', async () => {
    const phones = ['a', 'b', 'c'].map((name) => target('fcm', fcmToken(name)));
    fcm.replyToMessage = ({ token }) =>
      token.startsWith('b')
        ? fcmError(404, 'NOT_FOUND', 'UNREGISTERED')
        : token.startsWith('c')
          ? { status: 500 }
          : undefined;
    assert.deepEqual(
      (await push.send(phones)).map(({ kind }) => kind),
      ['sent', 'gone', 'retry'],
    );
    assert.deepEqual(push.disabled, [phones[1]?.id]);
  });

  test('credentials that Google refuses are reported with what to check, and without any part of them', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    const stranger = open(5000, {}, { ...fcm.config, privateKey: pem });
    const [outcome] = (await stranger.send([phone])) as [Retry];
    assert.equal(outcome.kind, 'retry');
    assert.match(outcome.error, /TOCSIN_FCM_CREDENTIALS/);
    assert.doesNotMatch(outcome.error, /canary/);
    assert.match((await stranger.channel.check()) ?? '', /TOCSIN_FCM_CREDENTIALS/);
  });

  test('an invalid private key stops the start, and is not shown', () => {
    for (const privateKey of ['-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----', 'c2VjcmV0']) {
      assert.throws(
        () => createTestPush({ fcm: { ...fcm.config, privateKey } }),
        (error) =>
          error instanceof Problem && /TOCSIN_FCM_CREDENTIALS/.test(error.message) && !/c2Vj/.test(error.message),
      );
    }
  });

  test('a provider that cannot be reached is a retry, and the check reports it', async () => {
    const vacant = createServer().listen(0, '127.0.0.1');
    await once(vacant, 'listening');
    const { port } = vacant.address() as AddressInfo;
    await new Promise((resolve) => vacant.close(resolve));
    const lost = open(5000, {}, { ...fcm.config, endpoint: `http://127.0.0.1:${port}` });
    assert.deepEqual(await lost.send([phone]), [
      { kind: 'retry', reason: 'unreachable', error: 'FCM cannot be reached (ECONNREFUSED)' },
    ]);
    assert.match((await lost.channel.check()) ?? '', /^FCM cannot be reached \(ECONNREFUSED\)$/);
    assert.deepEqual(lost.disabled, []);
  });

  test('a send to a provider that hangs ends at the deadline, and the next send gets a new session', async () => {
    const hasty = open(300);
    await hasty.send([phone]);
    fcm.replyToMessage = () => 'silence';
    assert.deepEqual(await hasty.send([phone]), [
      { kind: 'retry', reason: 'unreachable', error: 'FCM did not respond in time' },
    ]);
    fcm.replyToMessage = () => undefined;
    const sessions = fcm.server.sessionCount;
    assert.deepEqual(await hasty.send([phone]), [{ kind: 'sent' }]);
    assert.equal(fcm.server.sessionCount, sessions + 1);
  });

  test('a server that accepts connections and never responds is disconnected at the deadline', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    await push.send([phone]);
    for (const scheme of ['http', 'https']) {
      const hasty = open(200, {}, { ...fcm.config, endpoint: `${scheme}://127.0.0.1:${port}` });
      const before = countSockets();
      const [outcome] = (await hasty.send([phone])) as [Retry];
      assert.equal(outcome.kind, 'retry');
      assert.equal(outcome.reason, 'unreachable');
      await hasty.channel.close();
      await eventually('only the end of the silent server is open', 2000, countSockets, (count) => count <= before + 1);
    }
    for (const socket of sockets) socket.destroy();
    silent.close();
    assert.equal(sockets.length, 2);
  });

  test('a request to a token service that hangs ends at the deadline', async () => {
    fcm.replyToTokenRequest = () => 'silence';
    const [outcome] = (await open(200).send([phone])) as [Retry];
    assert.equal(outcome.kind, 'retry');
    assert.equal(outcome.reason, 'unreachable');
    assert.match(outcome.error, /in time/);
  });

  test('an abort settles at once and cancels the request, and the session it shares stays open', async () => {
    fcm.replyToMessage = ({ token }) => (token === phone.token ? 'silence' : undefined);
    await push.channel.check();
    const controller = new AbortController();
    const request = fcm.server.nextRequest();
    const sent = push.send([phone], { signal: controller.signal });
    const { stream } = await request;
    const cancelled = once(stream, 'close');
    const sessions = fcm.server.sessionCount;
    assert.deepEqual(await push.send([target('fcm', fcmToken('other'))]), [{ kind: 'sent' }]);
    controller.abort();
    const [outcome] = (await sent) as [Retry];
    assert.equal(outcome.kind, 'retry');
    assert.equal(outcome.reason, 'deferred');
    await cancelled;
    assert.equal(stream.rstCode, 8, 'CANCEL');
    assert.deepEqual(await push.send([target('fcm', fcmToken('other'))]), [{ kind: 'sent' }]);
    assert.equal(fcm.server.sessionCount, sessions);
  });

  test('an endless response is aborted', async () => {
    fcm.replyToMessage = () => ({ status: 200, body: 'x'.repeat(200_000) });
    const [outcome] = (await push.send([phone])) as [Retry];
    assert.equal(outcome.kind, 'retry');
    assert.match(outcome.error, /too great length/);
  });

  test('the largest notification is accepted', async () => {
    const content = { title: '🚨'.repeat(140), body: '\u0001'.repeat(2000), data: { blob: '"'.repeat(100_000) } };
    assert.deepEqual(await push.send([phone], { content }), [{ kind: 'sent' }]);
    assert.equal(fcm.accepted[0]?.data.truncated, 'true');
  });

  test('a stored token that is invalid is not sent', async () => {
    const [outcome] = (await push.send([target('fcm', 'no token')])) as [Rejected];
    assert.equal(outcome.kind, 'rejected');
    assert.equal(outcome.reason, 'invalid_target');
    assert.ok(!outcome.error.includes('no token'));
  });

  test('the check gets an access token and finds nothing wrong', async () => {
    assert.equal(await push.channel.check(), null);
    assert.equal(fcm.tokenRequests, 1);
  });
});
