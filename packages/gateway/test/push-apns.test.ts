// APNs against a fake that checks the provider token and every header, and that ends sessions as Apple does.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { after, afterEach, before, beforeEach, suite, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { ApnsStandIn, apnsError } from '@tocsin/test-support/push-apns-stand-in.ts';
import {
  apnsToken,
  createTestPush,
  sampleNotification,
  type TestPush,
  target,
} from '@tocsin/test-support/push-channel.ts';
import { servicePrivateKey } from '@tocsin/test-support/push-fcm-stand-in.ts';
import { countSockets } from '@tocsin/test-support/push-sockets.ts';
import { createTestAuthority, type TestAuthority } from '@tocsin/test-support/tls-ca.ts';
import type { PushDeps } from '../src/channels/push/sender.ts';
import type { Rejected, Retry } from '../src/core/outcome.ts';
import { Problem } from '../src/core/problem.ts';

suite('APNs', () => {
  let apns: ApnsStandIn;
  let push: TestPush;
  let authority: TestAuthority;
  const channels: TestPush[] = [];
  const phone = target('apns', apnsToken('a'));

  function open(timeoutMs = 5000, parts: Partial<PushDeps> = {}, config = apns.config): TestPush {
    const opened = createTestPush({ apns: config, timeoutMs }, parts, apns.clock);
    channels.push(opened);
    return opened;
  }

  before(() => {
    authority = createTestAuthority();
  });
  after(() => authority.remove());
  beforeEach(async () => {
    apns = await ApnsStandIn.start({ now: sampleNotification.createdAt });
    push = open();
  });
  afterEach(async () => {
    await Promise.all(channels.splice(0).map(({ channel }) => channel.close()));
    await apns.server.stop();
  });

  test('gets the notification with all fields', async () => {
    assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
    const [accepted] = apns.accepted;
    const { id, content } = sampleNotification;
    const { title, body } = content;
    assert.equal(accepted?.deviceToken, phone.token);
    const headers = Object.entries(accepted?.headers ?? {}).filter(([name]) => name.startsWith('apns-'));
    assert.deepEqual(Object.fromEntries(headers), {
      'apns-topic': 'com.example.app',
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-expiration': String(sampleNotification.createdAt / 1000 + 2_419_200),
      'apns-collapse-id': id,
      'apns-id': id,
    });
    assert.deepEqual(accepted?.payload, {
      aps: { alert: { title, body }, sound: 'default', 'interruption-level': 'time-sensitive' },
      id,
      type: 'external_notification',
      source: 'cron',
      category: 'task',
      severity: 'critical',
      data: { host: 'db-1', attempts: 3 },
      createdAt: '2026-11-15T12:00:00.000Z',
    });
  });

  test('advertising has low priority and does not interrupt', async () => {
    await push.send([phone], { content: { category: 'promo', severity: null } });
    assert.equal(apns.accepted[0]?.headers['apns-priority'], '5');
    assert.equal(apns.accepted[0]?.payload.aps['interruption-level'], 'passive');
  });

  test('works over TLS with a certificate of the right authority, and with no other', async () => {
    const secure = await ApnsStandIn.start(apns.clock, { certificate: authority.issue('IP:127.0.0.1') });
    try {
      assert.deepEqual(await open(5000, { ca: authority.ca }, secure.config).send([phone]), [{ kind: 'sent' }]);
      const [outcome] = (await open(5000, {}, secure.config).send([phone])) as [Retry];
      assert.equal(outcome.reason, 'unreachable');
      assert.match(outcome.error, /^APNs cannot be reached \([A-Z_]+\)$/);
      assert.equal(secure.accepted.length, 1);
    } finally {
      await secure.server.stop();
    }
  });

  test('many sends share one session and one provider token, also with a low stream limit', async () => {
    const narrow = await ApnsStandIn.start(apns.clock, { maxConcurrentStreams: 2 });
    try {
      const one = open(5000, {}, narrow.config);
      const outcomes = await Promise.all(Array.from({ length: 100 }, () => one.send([phone])));
      assert.ok(outcomes.flat().every(({ kind }) => kind === 'sent'));
      assert.equal(narrow.accepted.length, 100);
      assert.equal(narrow.server.sessionCount, 1);
      assert.equal(narrow.providerTokens.size, 1);
    } finally {
      await narrow.server.stop();
    }
  });

  test('the provider token is used for 50 minutes and then replaced', async () => {
    await push.send([phone]);
    apns.clock.now += 49 * 60_000;
    await push.send([phone]);
    assert.equal(apns.providerTokens.size, 1);
    apns.clock.now += 60_000;
    assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
    assert.equal(apns.providerTokens.size, 2);
  });

  test('a provider token that Apple reports as expired is replaced once', async () => {
    const tokens: (string | undefined)[] = [];
    apns.reply = (_token, { headers }) => {
      tokens.push(headers.authorization);
      return tokens.length === 1 ? apnsError(403, 'ExpiredProviderToken') : undefined;
    };
    assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
    assert.equal(new Set(tokens).size, 2);
    apns.reply = () => {
      tokens.push('more');
      return apnsError(403, 'ExpiredProviderToken');
    };
    const [outcome] = (await push.send([phone])) as [Retry];
    assert.equal(outcome.kind, 'retry');
    assert.match(outcome.error, /clock/);
    assert.equal(tokens.length, 4, 'no loop');
  });

  for (const [status, reason, kind, wanted] of [
    [410, 'Unregistered', 'gone', /no longer valid/],
    [410, 'ExpiredToken', 'gone', /no longer valid/],
    [400, 'BadDeviceToken', 'gone', /no longer valid/],
    [400, 'DeviceTokenNotForTopic', 'rejected', /TOCSIN_APNS_TOPIC/],
    [400, 'BadTopic', 'rejected', /TOCSIN_APNS_TOPIC/],
    [400, 'PayloadEmpty', 'rejected', /PayloadEmpty/],
    [403, 'InvalidProviderToken', 'rejected', /TOCSIN_APNS_KEY_ID/],
    [404, 'BadPath', 'rejected', /BadPath/],
    [413, 'PayloadTooLarge', 'rejected', /too large/],
    [429, 'TooManyRequests', 'retry', /fewer/],
    [429, 'TooManyProviderTokenUpdates', 'retry', /fewer/],
    [500, 'InternalServerError', 'retry', /500/],
    [503, 'Shutdown', 'retry', /503/],
    [400, 'canary with <b>text</b>', 'rejected', /\(400\)/],
  ] as const) {
    test(`${status} ${reason} means ${kind}`, async () => {
      apns.reply = () => apnsError(status, reason, { 'retry-after': '7' });
      const [outcome] = (await push.send([phone])) as [Retry];
      assert.equal(outcome.kind, kind);
      assert.match(outcome.error, wanted);
      assert.doesNotMatch(outcome.error, /canary/);
      assert.equal(outcome.retryAfterMs, kind === 'retry' ? 7000 : undefined);
      assert.deepEqual(push.disabled, kind === 'gone' ? [phone.id] : []);
    });
  }

  test('after a GOAWAY the next notification goes over a new session', async () => {
    await push.send([phone]);
    const [session] = apns.server.sessions;
    assert.ok(session);
    const closed = once(session, 'close');
    session.close();
    await closed;
    assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
    assert.equal(apns.server.sessionCount, 2);
  });

  for (const [name, code, lastStream] of [
    ['a GOAWAY that excludes the request', 0, 1],
    ['a GOAWAY with an error', 2, 1],
  ] as const) {
    test(`${name} sends the notification again over a new session`, async () => {
      await push.send([phone]);
      apns.reply = (_token, { stream }) => {
        apns.reply = () => undefined;
        stream.session?.goaway(code, lastStream);
        return 'silence';
      };
      assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
      assert.equal(apns.accepted.length, 2);
      assert.equal(apns.server.sessionCount, 2);
    });
  }

  test('after a GOAWAY the socket is closed, even if the provider keeps its side open', async () => {
    await push.send([phone]);
    const [session] = apns.server.sessions;
    const before = countSockets();
    session?.goaway();
    const left = await eventually('our socket closes', 2000, countSockets, (count) => count < before);
    assert.equal(left, before - 1);
  });

  test('a GOAWAY lets the covered requests finish, and the others are sent again', async () => {
    const before = countSockets();
    let held: ServerHttp2Stream | undefined;
    apns.reply = (_token, { stream }) => {
      if (held === undefined) {
        held = stream;
        return 'silence';
      }
      apns.reply = () => undefined;
      stream.session?.goaway(0, held.id ?? 0);
      held.respond({ ':status': 200 });
      held.end();
      return 'silence';
    };
    const outcomes = await push.send([phone, target('apns', apnsToken('b'))]);
    assert.deepEqual(outcomes, [{ kind: 'sent' }, { kind: 'sent' }]);
    assert.deepEqual(
      apns.accepted.map(({ deviceToken }) => deviceToken),
      [apnsToken('b')],
    );
    assert.equal(apns.server.sessionCount, 2);
    // Both ends of the new session remain.
    await eventually('our old socket closes', 2000, countSockets, (count) => count <= before + 2);
  });

  test('a kept session that breaks during a request is retried transparently', async () => {
    await push.send([phone]);
    apns.reply = (_token, { stream }) => {
      apns.reply = () => undefined;
      stream.session?.destroy();
      return 'silence';
    };
    assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
    assert.equal(apns.server.sessionCount, 2);
  });

  test('a provider that breaks every session is tried at most twice', async () => {
    await push.send([phone]);
    let asked = 0;
    apns.reply = (_token, { stream }) => {
      asked += 1;
      stream.session?.destroy();
      return 'silence';
    };
    const [outcome] = (await push.send([phone])) as [Retry];
    assert.equal(outcome.kind, 'retry');
    assert.equal(outcome.reason, 'unreachable');
    assert.equal(asked, 2);
  });

  test('a provider that stops and recovers is used again', async () => {
    await push.send([phone]);
    await apns.server.stop();
    const [outcome] = (await push.send([phone])) as [Retry];
    assert.equal(outcome.kind, 'retry');
    assert.equal(outcome.reason, 'unreachable');
    assert.deepEqual(push.disabled, []);
    await apns.server.listen();
    assert.deepEqual(await push.send([phone]), [{ kind: 'sent' }]);
  });

  test('a send to a provider that hangs ends at the deadline, and an abort settles at once', async () => {
    apns.reply = () => 'silence';
    const [late] = (await open(200).send([phone])) as [Retry];
    assert.deepEqual(late, { kind: 'retry', reason: 'unreachable', error: 'APNs did not respond in time' });
    const controller = new AbortController();
    const request = apns.server.nextRequest();
    const sent = push.send([phone], { signal: controller.signal });
    await request;
    controller.abort();
    const [aborted] = (await sent) as [Retry];
    assert.equal(aborted.kind, 'retry');
    assert.equal(aborted.reason, 'deferred');
  });

  test('the largest notification uses the whole limit and is accepted', async () => {
    const content = { title: '🚨'.repeat(140), body: 'x'.repeat(8000), data: { blob: 'x'.repeat(100_000) } };
    assert.deepEqual(await push.send([phone], { content }), [{ kind: 'sent' }]);
    assert.equal(apns.accepted[0]?.bytes, 4096);
  });

  test('a stored token that is invalid is not sent', async () => {
    const [outcome] = (await push.send([target('apns', '../../admin')])) as [Rejected];
    assert.equal(outcome.kind, 'rejected');
    assert.equal(outcome.reason, 'invalid_target');
    assert.equal(apns.server.sessionCount, 0);
  });

  test('the check opens a session and sends nothing', async () => {
    assert.equal(await push.channel.check(), null);
    assert.equal(apns.server.sessionCount, 1);
    await apns.server.stop();
    assert.match((await open().channel.check()) ?? '', /^APNs cannot be reached \(ECONNREFUSED\)$/);
  });

  test('a key of the wrong kind stops the start', () => {
    const config = { ...apns.config, key: servicePrivateKey };
    assert.throws(
      () => createTestPush({ apns: config }),
      (error) => error instanceof Problem && /TOCSIN_APNS_KEY/.test(error.message) && !/BEGIN/.test(error.message),
    );
  });
});
