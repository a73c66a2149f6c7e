// Compares the metrics that Prometheus scrapes with the responses that callers got.
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { install, installWithSmtp, serveWithEmail } from '@tocsin/test-support/install.ts';
import { rawRequest } from '@tocsin/test-support/raw-request.ts';
import { serveExpectingFailure } from '@tocsin/test-support/refusal-to-start.ts';
import { notify, send } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { fetchMetrics, scrape } from '@tocsin/test-support/scrape.ts';
import { connectAsync } from 'mqtt';

const token = 'a-token-for-the-metrics';

suite('The counters', () => {
  test('agree with the responses that callers got', async (t) => {
    const gateway = await (await install(t)).serve();
    for (let index = 0; index < 5; index += 1) assert.equal((await notify(gateway, { title: 'one' })).status, 200);
    assert.equal((await notify(gateway, 'not json')).status, 400);
    assert.equal((await notify({ api: gateway.api, key: 'svc_unknownUnknownUnknown' }, { title: 'x' })).status, 401);
    assert.equal((await send(gateway.api, { path: '/elsewhere' })).status, 404);
    assert.equal((await send(gateway.api, {})).status, 200);
    assert.equal((await rawRequest(gateway.api, 'nonsense\r\n\r\n')).status, 400);
    const metrics = await scrape(gateway);
    const requests = 'tocsin_http_requests_total';
    assert.equal(metrics.sum(requests, { status: 200, code: 'none' }), 6);
    assert.equal(metrics.sum(requests, { status: 401, code: 'invalid_api_key' }), 1);
    assert.equal(metrics.sum(requests, { status: 404, code: 'not_found' }), 1);
    assert.equal(metrics.sum(requests, { status: 400, code: 'invalid_body' }), 2);
    const duration = 'tocsin_http_request_duration_seconds';
    assert.equal(metrics.sum(`${duration}_count`, { method: 'POST', status: 200 }), 5);
    assert.equal(metrics.sum(`${duration}_bucket`, { method: 'POST', status: 200, le: '+Inf' }), 5);
    assert.ok((metrics.sum(`${duration}_sum`, { method: 'POST', status: 200 }) ?? 0) > 0);
    // A connection that never became a request has no duration.
    assert.equal(metrics.sum(`${duration}_count`), 9);
    assert.equal(metrics.sum('tocsin_notifications_total', { result: 'stored' }), 5);
    assert.equal(metrics.sum('tocsin_notifications_total'), 5);
    const outcomes = 'tocsin_channel_outcomes_total';
    assert.equal(metrics.sum(outcomes, { channel: 'mqtt', kind: 'sent', attempt: 'first' }), 5);
    assert.equal(metrics.sum(outcomes), 5);
    assert.ok((metrics.sum('tocsin_store_batch_size_sum') ?? 0) >= 5);
    assert.equal(
      metrics.sum('tocsin_store_batch_size_count'),
      metrics.sum('tocsin_store_commit_duration_seconds_count'),
    );
    assert.equal(metrics.sum('tocsin_redeliveries', { state: 'waiting' }), 0);
    assert.equal(metrics.sum('tocsin_redeliveries', { state: 'dead' }), 0);
    assert.equal(metrics.sum('tocsin_redelivery_oldest_age_seconds'), 0);
    assert.ok((metrics.sum('nodejs_eventloop_lag_p99_seconds') ?? 0) > 0);
    assert.ok((metrics.sum('process_cpu_seconds_total') ?? 0) > 0);
    const line = /"requestId":"req_[^"]+","status":400,"code":"invalid_body","msg":"refused"/;
    await eventually(
      'the log reports it',
      5000,
      () => gateway.log,
      (log) => line.test(log),
    );
  });

  test('show an SMTP server that is down: the open breaker, the queued deliveries, and the recovery', async (t) => {
    const { installation, smtp } = await installWithSmtp(t);
    const gateway = await serveWithEmail(installation);
    const notifyCritical = () => notify(gateway, { title: 'Disk almost full', severity: 'critical', sendMqtt: false });
    await eventually('the new address is known', 5000, notifyCritical, ({ body }) => body.emailEnabled);
    const outcomes = 'tocsin_channel_outcomes_total';
    const before = await scrape(gateway);
    assert.equal(before.sum('tocsin_breaker_state', { guard: 'email' }), 0);
    assert.equal(before.sum(outcomes, { channel: 'email', kind: 'sent', attempt: 'first' }), smtp.emails.length);

    // Different owners, since for one mailbox only the first email is attempted and the rest queue behind it.
    const keys = [gateway.key];
    for (let index = 0; index < 5; index += 1) {
      const other = await installation.json('owner', 'create', '--name', 'Ben', '--email', `ben${index}@example.com`);
      keys.push((await installation.json('key', 'create', '--owner', other.id as string)).key as string);
    }
    await smtp.kill();
    const emailsBefore = smtp.emails.length;
    for (const key of keys) {
      const { body } = await notify(
        { api: gateway.api, key },
        { title: 'Disk full', sendEmail: true, sendMqtt: false },
      );
      assert.equal(body.emailSent, false);
    }
    const down = await scrape(gateway);
    assert.equal(down.sum('tocsin_breaker_state', { guard: 'email' }), 2);
    assert.equal(down.sum('tocsin_breaker_state', { guard: 'mqtt' }), 0);
    assert.equal(down.sum(outcomes, { channel: 'email', kind: 'retry', attempt: 'first' }), 6);
    assert.equal(down.sum('tocsin_redeliveries', { state: 'waiting' }), 6);
    assert.ok((down.sum('tocsin_redelivery_oldest_age_seconds') ?? 0) > 0);

    await smtp.start();
    // The breaker allows a new attempt ten seconds after it opened; the first success wakes the queued deliveries.
    const isBack = async () => {
      await delay(1000);
      return (await notifyCritical()).body.emailSent;
    };
    await eventually('the SMTP server is reachable again', 30_000, isBack, Boolean);
    const after = await eventually(
      'all queued emails have been sent, and the breaker is closed',
      40_000,
      () => scrape(gateway),
      (metrics) =>
        metrics.sum('tocsin_redeliveries', { state: 'waiting' }) === 0 &&
        metrics.sum('tocsin_breaker_state', { guard: 'email' }) === 0,
    );
    const attempts = { channel: 'email', kind: 'sent' };
    assert.equal(after.sum(outcomes, { ...attempts, attempt: 'first' }), emailsBefore + 1);
    assert.equal(after.sum(outcomes, attempts), smtp.emails.length, 'each received email was counted once');
  });

  test('count the devices connected to the embedded broker', async (t) => {
    const gateway = await (await install(t)).serve();
    const device = gateway.line.firstRun?.device as { id: string; mqtt: { password: string } };
    const connections = async () => (await scrape(gateway)).sum('tocsin_mqtt_connections');
    assert.equal(await connections(), 0);
    const client = await connectAsync(gateway.line.mqtt as string, {
      username: device.id,
      password: device.mqtt.password,
      reconnectPeriod: 0,
    });
    assert.equal(await connections(), 1);
    await client.endAsync();
    await eventually('the device is disconnected', 5000, connections, (count) => count === 0);
  });

  test('contain no text from callers and no name of an owner', async (t) => {
    const gateway = await (await install(t)).serve();
    const canary = 'canary4711';
    const { body } = await notify(
      gateway,
      { title: canary, body: canary, source: canary, data: { [canary]: canary } },
      { 'X-Request-Id': canary, Origin: `https://${canary}.example`, 'User-Agent': canary },
    );
    assert.equal(body.stored, true);
    await notify({ api: gateway.api, key: `svc_${canary}${canary}` }, { title: 'x' });
    await send(gateway.api, { path: `/${canary}`, method: 'DELETE' });
    await send(gateway.api, { method: 'PROPFIND' });
    await rawRequest(gateway.api, `${canary} / HTTP/1.1\r\n\r\n`);
    const { text, samples } = await scrape(gateway);
    const device = gateway.line.firstRun?.device.id as string;
    const { host } = new URL(gateway.api);
    for (const secret of [
      canary,
      gateway.key,
      gateway.line.firstRun?.owner as string,
      device,
      body.id,
      host,
      'PROPFIND',
    ]) {
      assert.ok(!text.includes(secret), `${secret} is in the metrics`);
    }
    const ours = samples.filter(({ name }) => name.startsWith('tocsin_'));
    const labels = new Set(ours.flatMap((sample) => Object.keys(sample.labels)));
    const known = [
      'attempt',
      'channel',
      'code',
      'guard',
      'kind',
      'le',
      'method',
      'reason',
      'result',
      'state',
      'status',
      'version',
    ];
    assert.deepEqual([...labels].sort(), known);
  });
});

suite('Metrics are served', () => {
  const forwarded: Record<string, string>[] = [
    { 'X-Forwarded-For': '203.0.113.9' },
    { Forwarded: 'for=203.0.113.9' },
    { 'X-Forwarded-For': '127.0.0.1' },
    { Via: '1.1 proxy' },
  ];

  async function assertRefused(response: Response): Promise<void> {
    assert.equal(response.status, 403);
    const body = (await response.json()) as { ok: boolean; error: string };
    assert.equal(body.ok, false);
    assert.match(body.error, /TOCSIN_METRICS_TOKEN/);
  }

  test('to programs on the same machine, but not through a proxy there', async (t) => {
    const gateway = await (await install(t)).serve();
    const direct = await fetchMetrics(gateway);
    assert.equal(direct.status, 200);
    assert.match(direct.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    for (const headers of forwarded) await assertRefused(await fetchMetrics(gateway, headers));
    // Without a configured token, no token is accepted.
    for (const authorization of ['Bearer ', 'Bearer undefined', 'Bearer null', '']) {
      await assertRefused(await fetchMetrics(gateway, { ...forwarded[0], Authorization: authorization }));
    }
  });

  test('to any address with the token', async (t) => {
    const gateway = await (await install(t, { TOCSIN_METRICS_TOKEN: token })).serve();
    for (const headers of forwarded) {
      await assertRefused(await fetchMetrics(gateway, headers));
      for (const wrong of [token, `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`]) {
        await assertRefused(await fetchMetrics(gateway, { ...headers, Authorization: wrong }));
      }
      assert.equal((await fetchMetrics(gateway, { ...headers, Authorization: `Bearer ${token}` })).status, 200);
    }
  });

  test('from another address only with the token', async (t) => {
    const address = Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
    if (!canRun(t, address === undefined ? 'there is no address other than loopback' : null)) return;
    const gateway = await (await install(t, { TOCSIN_HOST: '0.0.0.0', TOCSIN_METRICS_TOKEN: token })).serve();
    const url = new URL('/metrics', gateway.line.console);
    url.hostname = address as string;
    await assertRefused(await fetch(url));
    assert.equal((await fetch(url, { headers: { Authorization: `Bearer ${token}` } })).status, 200);
  });

  test('never with a guessable token: the service does not start with one', async (t) => {
    const { exitCode, stderr } = await serveExpectingFailure(await install(t, { TOCSIN_METRICS_TOKEN: 'short' }));
    assert.notEqual(exitCode, 0);
    assert.match(stderr, /TOCSIN_METRICS_TOKEN must be at least 16/);
    assert.ok(!stderr.includes('short'));
  });
});

test('A notification that could not be stored has its request id in the log', async (t) => {
  const installation = await install(t);
  const gateway = await installation.serve();
  await notify(gateway, { title: 'so that the key is known' });
  using other = new DatabaseSync(join(installation.dataDir, 'tocsin.db'), { timeout: 2000 });
  other.exec('BEGIN IMMEDIATE');
  const { body } = await notify(gateway, { title: 'while another program holds the database' });
  other.exec('ROLLBACK');
  assert.equal(body.stored, false);
  const line = await eventually(
    'the line is written',
    5000,
    () => gateway.log.split('\n').find((text) => text.includes('notification not stored')),
    (found) => found !== undefined,
  );
  const fields = JSON.parse(line ?? '') as Record<string, string>;
  assert.equal(fields.requestId, (body as unknown as { requestId: string }).requestId);
  assert.equal(fields.reason, 'store_unavailable');
  const metrics = await scrape(gateway);
  assert.equal(metrics.sum('tocsin_notifications_total', { result: 'store_unavailable' }), 1);
  assert.equal(metrics.sum('tocsin_notifications_total', { result: 'stored' }), 1);
});
