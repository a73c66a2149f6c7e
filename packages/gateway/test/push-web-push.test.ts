// Web Push against a push service that decrypts with an implementation other than ours.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { createTestPush, sampleNotification, target } from '@tocsin/test-support/push-channel.ts';
import { createTestAuthority } from '@tocsin/test-support/tls-ca.ts';
import { parseNetwork } from '../src/core/address-policy.ts';
import type { Rejected, Retry } from '../src/core/outcome.ts';
import { createEgress, EgressFailed, EgressRefused } from '../src/egress/index.ts';

suite('Web Push', () => {
  test('reaches the browser encrypted, signed and with its headers', async () => {
    const push = createTestPush({}, { retentionDays: 7 });
    assert.deepEqual(await push.send([target('webpush', push.webPush.subscribe())]), [{ kind: 'sent' }]);
    const [message] = push.webPush.received;
    assert.equal(JSON.parse(message?.text ?? '').body, sampleNotification.content.body);
    assert.equal(message?.headers.ttl, String(7 * 86_400));
    assert.equal(message?.headers.urgency, 'high');
    assert.match(message?.headers.topic ?? '', /^[A-Za-z0-9_-]{32}$/);
    assert.equal(message?.claims.sub, 'mailto:ops@example.com');
    assert.equal(message?.claims.aud, 'https://fcm.googleapis.com');
    assert.deepEqual(push.webPush.complaints, []);
  });

  test('a retry carries the same topic, so that it replaces the first attempt', async () => {
    const push = createTestPush();
    const browser = target('webpush', push.webPush.subscribe());
    await push.send([browser]);
    await push.send([browser]);
    const [first, second] = push.webPush.received;
    assert.equal(first?.headers.topic, second?.headers.topic);
    assert.equal(first?.headers.authorization, second?.headers.authorization, 'the token is reused');
  });

  test('sends each push service its own audience', async () => {
    const push = createTestPush();
    const origins = ['https://web.push.apple.com', 'https://updates.push.services.mozilla.com'];
    const outcomes = await push.send(origins.map((origin) => target('webpush', push.webPush.subscribe(origin))));
    assert.deepEqual(outcomes, [{ kind: 'sent' }, { kind: 'sent' }]);
    assert.deepEqual(push.webPush.received.map(({ claims }) => claims.aud).sort(), [...origins].sort());
  });

  test('the largest notification is accepted', async () => {
    const push = createTestPush();
    const content = { title: '🚨'.repeat(140), body: '\u0001'.repeat(2000), data: { blob: 'x'.repeat(100_000) } };
    assert.deepEqual(await push.send([target('webpush', push.webPush.subscribe())], { content }), [{ kind: 'sent' }]);
    assert.equal(push.webPush.received.length, 1);
  });

  for (const [status, kind, wanted] of [
    [200, 'sent', null],
    [202, 'sent', null],
    [301, 'retry', /301/],
    [400, 'rejected', /refuses the message \(400\)/],
    [401, 'rejected', /does not accept our key/],
    [403, 'rejected', /does not accept our key/],
    [404, 'gone', /has ended/],
    [410, 'gone', /has ended/],
    [413, 'rejected', /too large/],
    [429, 'retry', /fewer/],
    [500, 'retry', /500/],
    [503, 'retry', /503/],
  ] as const) {
    test(`a response with ${status} means ${kind}`, async () => {
      const push = createTestPush();
      push.webPush.reply = () => ({ status, headers: { 'retry-after': '30' } });
      const browser = target('webpush', push.webPush.subscribe());
      const [outcome] = await push.send([browser]);
      assert.equal(outcome?.kind, kind);
      if (wanted !== null) assert.match((outcome as Retry).error, wanted);
      assert.equal((outcome as Retry).retryAfterMs, kind === 'retry' ? 30_000 : undefined);
      assert.deepEqual(push.disabled, kind === 'gone' ? [browser.id] : []);
    });
  }

  test('Retry-After may be a date', async () => {
    const push = createTestPush();
    const headers = { 'retry-after': new Date(push.clock.now + 90_000).toUTCString() };
    push.webPush.reply = () => ({ status: 429, headers });
    const [outcome] = await push.send([target('webpush', push.webPush.subscribe())]);
    assert.equal((outcome as Retry).retryAfterMs, 90_000);
  });

  test('a push service that cannot be reached is retried later, and its address stays out of the error', async () => {
    const push = createTestPush();
    push.webPush.reply = (url) => {
      throw Object.assign(new Error(`connect ECONNREFUSED 10.0.0.7 for ${url}`), { code: 'ECONNREFUSED' });
    };
    const outcomes = await push.send([target('webpush', push.webPush.subscribe())]);
    const error = 'The push service fcm.googleapis.com cannot be reached (ECONNREFUSED)';
    assert.deepEqual(outcomes, [{ kind: 'retry', reason: 'unreachable', error }]);
  });

  test('an address that the dialer refuses is rejected, and one that it cannot reach is retried', async () => {
    const push = createTestPush();
    const browsers = [1, 2].map(() => target('webpush', push.webPush.subscribe()));
    const errors = [new EgressRefused(), new EgressFailed()];
    push.webPush.reply = () => {
      throw errors.shift();
    };
    const [refused, failed] = (await push.send(browsers)) as [Rejected, Retry];
    assert.equal(refused.kind, 'rejected');
    assert.equal(refused.reason, 'invalid_target');
    assert.equal(failed.kind, 'retry');
    assert.equal(failed.reason, 'unreachable');
    assert.deepEqual(push.disabled, []);
  });

  test('a send to a push service that hangs ends at the deadline', async () => {
    const push = createTestPush({ timeoutMs: 100 });
    push.webPush.reply = () => new Promise(() => undefined);
    const [outcome] = await push.send([target('webpush', push.webPush.subscribe())]);
    assert.deepEqual(outcome, { kind: 'retry', reason: 'unreachable', error: 'Web Push did not respond in time' });
  });

  test('an abort settles everything at once, and targets still queued were not attempted', async () => {
    const push = createTestPush();
    const controller = new AbortController();
    let asked = 0;
    push.webPush.reply = () => {
      asked += 1;
      if (asked === 50) controller.abort();
      return new Promise(() => undefined);
    };
    const browsers = Array.from({ length: 60 }, () => target('webpush', push.webPush.subscribe()));
    const outcomes = (await push.send(browsers, { signal: controller.signal })) as Retry[];
    assert.equal(asked, 50);
    assert.equal(outcomes.length, 60);
    assert.ok(outcomes.every(({ kind }) => kind === 'retry'));
    assert.deepEqual([outcomes.at(0)?.reason, outcomes.at(-1)?.reason], ['deferred', 'not_attempted']);
  });

  test('a stored subscription is validated again before anything is sent', async () => {
    const push = createTestPush();
    const [outcome] = await push.send([
      target('webpush', push.webPush.subscribe('https://fcm.googleapis.com.evil.test')),
    ]);
    assert.equal(outcome?.kind, 'rejected');
    assert.equal((outcome as Rejected).reason, 'invalid_target');
    assert.match((outcome as Rejected).error, /none of the known push services/);
  });

  test('a push service that the operator configured is used', async () => {
    const push = createTestPush({}, { webPushHosts: ['push.example.net:8443'] });
    const browser = target('webpush', push.webPush.subscribe('https://push.example.net:8443'));
    assert.deepEqual(await push.send([browser]), [{ kind: 'sent' }]);
  });

  test('is sent through the guarded dialer as real HTTP', async () => {
    const authority = createTestAuthority();
    const { key, cert } = authority.issue('DNS:push.test');
    const server = createServer({ key, cert }, async (request, response) => {
      const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>);
      const headers = request.headers as Record<string, string>;
      const url = new URL(`https://${headers.host}${request.url}`);
      const { status } = await push.webPush.dial(
        url,
        { headers, body: Buffer.concat(chunks) },
        new AbortController().signal,
      );
      response.writeHead(status).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = `push.test:${(server.address() as AddressInfo).port}`;
    const loopback = parseNetwork('127.0.0.1/32');
    assert.ok(loopback);
    const resolve = async () => [{ address: '127.0.0.1' }];
    const open = createEgress({ allowed: [loopback] }, { resolve, ca: [authority.ca] });
    const guarded = createEgress({ allowed: [] }, { resolve, ca: [authority.ca] });
    let egress = open;
    const push = createTestPush(
      {},
      { webPushHosts: [host], dial: (url, request, signal) => egress.post(url, request, signal) },
    );
    try {
      const browser = target('webpush', push.webPush.subscribe(`https://${host}`));
      assert.deepEqual(await push.send([browser]), [{ kind: 'sent' }]);
      assert.equal(push.webPush.received.length, 1);
      egress = guarded;
      const [outcome] = (await push.send([browser])) as [Retry];
      assert.equal(outcome.kind, 'rejected');
      assert.match(outcome.error, /may not be called/);
      assert.equal(push.webPush.received.length, 1);
    } finally {
      open.close();
      guarded.close();
      server.closeAllConnections();
      server.close();
      authority.remove();
    }
  });
});
