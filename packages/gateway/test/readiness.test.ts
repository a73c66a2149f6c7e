// The readiness report of /readyz for load balancers and operators.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { startSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { channels } from '../src/channels/registry.ts';

interface Probe {
  status: number;
  body: Record<string, unknown>;
  text: string;
  ms: number;
}

async function probe(gateway: GatewayProcess): Promise<Probe> {
  const since = performance.now();
  const response = await fetch(new URL('/readyz', gateway.line.console));
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text), text, ms: performance.now() - since };
}

const sender = { TOCSIN_EMAIL_FROM: 'tocsin@example.com' };

suite('Readiness', () => {
  test('names every dependency', async (t) => {
    const gateway = await (await install(t)).serve();
    const { status, body } = await probe(gateway);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body).sort(), ['ok', 'store', ...channels.map(({ name }) => name)].sort());
    assert.partialDeepStrictEqual(body, { ok: true, store: 'ok', mqtt: 'ok', email: 'not configured', push: 'ok' });
  });

  test('shows providers that are down without naming them, and stays ready', async (t) => {
    const gateway = await (
      await install(t, {
        ...sender,
        TOCSIN_SMTP_URL: 'smtp://canary-user:canary-word@localhost:1',
        TOCSIN_MQTT_URL: 'mqtt://canary-user:canary-word@localhost:1',
      })
    ).serve();
    const { status, body, text } = await probe(gateway);
    assert.equal(status, 200);
    const down = { mqtt: 'unavailable', email: 'unavailable' };
    assert.partialDeepStrictEqual(body, { ok: true, store: 'ok', ...down, push: 'ok' });
    assert.doesNotMatch(text, /canary|localhost|127\.0\.0\.1/);
  });

  test('follows an SMTP server that stops and recovers', async (t) => {
    const smtpServer = await startSmtpServer();
    t.after(() => smtpServer.kill());
    const gateway = await (
      await install(t, { ...sender, TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtpServer.port}` })
    ).serve();
    const state = async () => (await probe(gateway)).body.email;
    assert.equal(await state(), 'ok');
    await smtpServer.kill();
    await eventually('the outage is detected', 10_000, state, (email) => email === 'unavailable');
    await smtpServer.start();
    await eventually('the recovery is detected', 10_000, state, (email) => email === 'ok');
  });

  test('checks a provider rarely, however many probes there are', async (t) => {
    const smtpServer = await startSmtpServer();
    t.after(() => smtpServer.kill());
    const gateway = await (
      await install(t, { ...sender, TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtpServer.port}` })
    ).serve();
    const since = performance.now();
    for (let round = 0; round < 10; round += 1) {
      const probes = await Promise.all(Array.from({ length: 20 }, () => probe(gateway)));
      assert.ok(probes.every(({ status }) => status === 200));
    }
    const most = 1 + Math.floor((performance.now() - since) / 1000);
    assert.ok(
      smtpServer.connectionCount >= 1 && smtpServer.connectionCount <= most,
      `${smtpServer.connectionCount} connections`,
    );
  });

  test('does not wait for a provider that does not respond', async (t) => {
    const smtpServer = await startSmtpServer();
    t.after(() => smtpServer.kill());
    smtpServer.faults.greeting = 'stall';
    const gateway = await (
      await install(t, { ...sender, TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtpServer.port}` })
    ).serve();
    const first = await probe(gateway);
    assert.equal(first.status, 200);
    assert.equal(first.body.email, 'unavailable');
    // Two seconds are documented; the rest is slack for a busy machine.
    assert.ok(first.ms < 3000, `${first.ms} ms`);
    // Once the provider is known to hang, a probe with a timeout of one second never fails because of it.
    const until = performance.now() + 6000;
    while (performance.now() < until) {
      const { ms, body } = await probe(gateway);
      assert.ok(ms < 1000, `${ms} ms`);
      assert.equal(body.email, 'unavailable');
    }
  });

  test('is denied in time while the store cannot be written, and recovers', async (t) => {
    const installation = await install(t);
    const gateway = await installation.serve();
    assert.equal((await probe(gateway)).status, 200);
    const other = new DatabaseSync(join(installation.dataDir, 'tocsin.db'), { timeout: 2000 });
    t.after(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    const denied = await eventually(
      'the lock is detected',
      10_000,
      () => probe(gateway),
      ({ status }) => status === 503,
    );
    assert.equal(denied.body.ok, false);
    assert.equal(denied.body.store, 'unavailable');
    assert.equal(denied.body.mqtt, 'ok');
    assert.ok(denied.ms < 3000, `${denied.ms} ms`);
    other.exec('ROLLBACK');
    await eventually(
      'it is ready again',
      10_000,
      () => probe(gateway),
      ({ status }) => status === 200,
    );
  });

  test('ends with SIGTERM, while requests in flight are finished', async (t) => {
    const gateway = await (await install(t)).serve();
    const { hostname, port } = new URL(gateway.api);
    const socket = connect(Number(port), hostname);
    t.after(() => socket.destroy());
    const body = JSON.stringify({ title: 'slow' });
    const head = `POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.key}\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
    // A client that got 100 Continue is being served.
    const [goOn] = (await once(socket, 'data')) as [Buffer];
    assert.match(goOn.toString(), /^HTTP\/1\.1 100 /);
    const ended = gateway.stop();
    const stopping = await eventually(
      'it is not ready any longer',
      5000,
      () => probe(gateway),
      ({ status }) => status === 503,
    );
    assert.deepEqual(stopping.body, { ok: false, stopping: true });
    socket.write(body);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
    assert.equal(await ended, 0);
  });
});
