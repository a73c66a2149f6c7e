// SIGTERM: stop accepting, finish requests in flight, flush, and exit with 0 within ten seconds, whatever hangs.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, type TestContext, test } from 'node:test';
import { Connections } from '@tocsin/test-support/connections.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { install, installWithSmtp, serveWithEmail } from '@tocsin/test-support/install.ts';
import { isListening } from '@tocsin/test-support/is-listening.ts';
import { KeepAliveClient } from '@tocsin/test-support/keep-alive-client.ts';
import { Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { notify, send } from '@tocsin/test-support/requests.ts';
import { canRun, obstacleIn } from '@tocsin/test-support/requires.ts';
import { readAll, withStore } from '@tocsin/test-support/stored-notifications.ts';
import { createTestAuthority } from '@tocsin/test-support/tls-ca.ts';
import { childrenOf, exitWithin } from '@tocsin/test-support/worker-processes.ts';

const limitMs = 10_000;
/** Limit for a shutdown in which nothing hangs and nothing is waited for. */
const promptMs = 3000;
const clientCount = 200;

async function timedStop(t: TestContext, gateway: GatewayProcess): Promise<{ code: number | null; ms: number }> {
  const startedAt = performance.now();
  const code = await gateway.stop();
  const ms = performance.now() - startedAt;
  const late = [...gateway.log.matchAll(/"part":"([^"]+)"/g)].map(([, part]) => part);
  t.diagnostic(`ended ${ms.toFixed()} ms after SIGTERM; not closed in time: ${late.join(', ') || 'nothing'}`);
  return { code, ms };
}

async function storedIds(installation: Installation, ownerId: string): Promise<Set<string>> {
  const { notifications } = await withStore(installation.dataDir, (store) => readAll(store, ownerId));
  return new Set(notifications.map(({ id }) => id));
}

/** A connection of which the gateway has read the text. */
async function open(t: TestContext, api: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(api);
  const socket = connect(Number(port), hostname);
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  socket.on('error', () => socket.destroy()).resume();
  socket.write(text);
  // Responded to after the connection was accepted, so the earlier one was accepted too.
  await send(api, { method: 'GET' });
  return socket;
}

const ownerOf = (gateway: GatewayProcess): string => gateway.line.firstRun?.owner ?? '';

suite('After SIGTERM', () => {
  for (const [protocol, workers] of [
    ['http', 1],
    ['https', 1],
    ['http', 2],
  ] as const) {
    test(`${clientCount} busy ${protocol} connections to ${workers} process${workers === 1 ? '' : 'es'} get complete responses, are asked to close, and nothing acknowledged is lost`, async (t) => {
      const authority = createTestAuthority();
      t.after(() => authority.remove());
      const { certFile, keyFile } = authority.issue('IP:127.0.0.1');
      const tls = { TOCSIN_TLS_CERT: certFile, TOCSIN_TLS_KEY: keyFile };
      const settings = { TOCSIN_WORKERS: String(workers), ...(protocol === 'https' && tls) };
      const installation = await install(t, settings);
      const gateway = await installation.serve();
      const clients = Array.from(
        { length: clientCount },
        (_, index) => new KeepAliveClient(gateway, `client ${index}`),
      );
      await Promise.all(clients.map(({ firstResponse }) => firstResponse));
      const stopped = timedStop(t, gateway);
      const ends = await Promise.all(clients.map(({ ended }) => ended));
      const { code, ms } = await stopped;
      assert.equal(code, 0);
      assert.ok(ms < limitMs);
      const answered = ends.flatMap((end) => end.answered);
      const unanswered = ends.filter(({ wasWaiting }) => wasWaiting);
      t.diagnostic(`${answered.length} responses in total; ${unanswered.length} ended before any byte of a response`);
      assert.deepEqual([...new Set(ends.flatMap(({ statuses }) => [...statuses]))], [200]);
      assert.equal(Math.max(...ends.map(({ truncatedBytes }) => truncatedBytes)), 0, 'no response was truncated');
      // A client delayed by this machine beyond the linger time finds its connection closed, and may retry.
      const left = ends.filter(({ wasWaiting, saidClose }) => wasWaiting || !saidClose);
      assert.ok(
        left.length <= clientCount / 10,
        `${left.length} connections ended without a response or Connection: close`,
      );
      const ids = await storedIds(installation, ownerOf(gateway));
      assert.deepEqual(
        answered.filter((id) => !ids.has(id)),
        [],
      );
    });
  }

  test('pipelined requests, sent before and during the shutdown, all get responses, and the last response closes the connection', async (t) => {
    const { smtp, gateway } = await serveWithStalledSmtp(t);
    const body = JSON.stringify({ title: 'ahead' });
    const request = `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${gateway.key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const socket = await open(t, gateway.api, request.repeat(3));
    let answers = '';
    socket.on('data', (chunk) => {
      answers += String(chunk);
    });
    await smtp.stalls(3);
    const stopped = timedStop(t, gateway);
    await refusesConnections(gateway);
    socket.write(request.repeat(2));
    await smtp.stalls(5);
    smtp.resume();
    await once(socket, 'close', { signal: AbortSignal.timeout(limitMs) });
    assert.equal((await stopped).code, 0);
    assert.equal(answers.split('HTTP/1.1 200 OK').length - 1, 5);
    assert.deepEqual(
      [...answers.matchAll(/^connection: (.*)\r$/gim)].map(([, value]) => value?.toLowerCase()),
      ['keep-alive', 'keep-alive', 'keep-alive', 'keep-alive', 'close'],
    );
  });

  test('connections that never sent a request, or that are idle, do not delay it', async (t) => {
    const gateway = await (await install(t)).serve();
    await open(t, gateway.api, '');
    await open(t, new URL('/healthz', gateway.line.console).href, '');
    await open(t, gateway.api, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const { code, ms } = await timedStop(t, gateway);
    assert.equal(code, 0);
    assert.ok(ms < promptMs, `${ms} ms`);
  });

  test('an incomplete handshake does not delay it', async (t) => {
    const authority = createTestAuthority();
    t.after(() => authority.remove());
    const { certFile, keyFile } = authority.issue('IP:127.0.0.1');
    const gateway = await (await install(t, { TOCSIN_TLS_CERT: certFile, TOCSIN_TLS_KEY: keyFile })).serve();
    const { hostname, port } = new URL(gateway.api);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => socket.destroy()).resume();
    await once(socket, 'connect');
    const served = new KeepAliveClient(gateway, 'busy');
    await served.firstResponse;
    const { code, ms } = await timedStop(t, gateway);
    assert.equal(code, 0);
    assert.ok(ms < promptMs, `${ms} ms`);
  });

  test('a client stalled in the middle of its body is disconnected; readiness is 503 and others are refused meanwhile', async (t) => {
    const gateway = await (await install(t)).serve();
    const head = `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${gateway.key}\r\nContent-Length: 100\r\n\r\n`;
    const stalled = await open(t, gateway.api, `${head}{"title":`);
    const closed = once(stalled, 'close');
    const stopped = timedStop(t, gateway);
    await refusesConnections(gateway);
    assert.equal((await fetch(new URL('/readyz', gateway.line.console))).status, 503);
    assert.equal((await fetch(new URL('/healthz', gateway.line.console))).status, 200);
    assert.equal(stalled.destroyed, false, 'it still has time');
    const { code, ms } = await stopped;
    await closed;
    assert.equal(code, 0);
    assert.ok(ms < limitMs);
  });

  test('a slow client that finishes in time gets a response', async (t) => {
    const installation = await install(t);
    const gateway = await installation.serve();
    const body = JSON.stringify({ title: 'slowly' });
    const head = `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${gateway.key}\r\nContent-Length: ${body.length}\r\n\r\n`;
    const socket = await open(t, gateway.api, head + body.slice(0, 5));
    const stopped = timedStop(t, gateway);
    await refusesConnections(gateway);
    const answer = once(socket, 'data');
    socket.write(body.slice(5));
    assert.match(String((await answer)[0]), /^HTTP\/1\.1 200 OK\r\n(.+\r\n)*connection: close/i);
    assert.equal((await stopped).code, 0);
  });

  test('a send to a stalled SMTP server is aborted in time to respond to the caller', async (t) => {
    const { smtp, installation, gateway } = await serveWithStalledSmtp(t);
    const answer = notify(gateway, { title: 'stuck' });
    await smtp.stalls(1);
    const { code, ms } = await timedStop(t, gateway);
    assert.equal(code, 0);
    assert.ok(ms < limitMs);
    const { status, body } = await answer;
    assert.equal(status, 200);
    assert.equal(body.stored, true);
    assert.equal(body.emailSent, false);
    assert.ok((await storedIds(installation, ownerOf(gateway))).has(body.id));
  });

  test('a broker that hangs delays neither the responses nor the exit', async (t) => {
    if (!canRun(t, mosquittoObstacle())) return;
    const broker = await Mosquitto.start();
    t.after(() => broker.stop());
    const installation = await install(t, { TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${broker.port}` });
    const gateway = await installation.serve();
    await eventually(
      'the gateway is connected',
      5000,
      () => gateway.log,
      (log) => log.includes('connected to the MQTT broker'),
    );
    assert.equal((await notify(gateway, { title: 'well' })).body.mqttPublishedCount, 1);
    broker.freeze();
    const answer = notify(gateway, { title: 'frozen', mqttQos: 1 });
    await eventually(
      'the notification is stored',
      5000,
      async () => (await storedIds(installation, ownerOf(gateway))).size,
      (count) => count === 2,
    );
    const { code, ms } = await timedStop(t, gateway);
    assert.equal(code, 0);
    assert.ok(ms < limitMs);
    const { status, body } = await answer;
    assert.equal(status, 200);
    assert.equal(body.mqttFailedCount, 1);
  });

  test('a database that another program has locked delays neither the responses nor the exit', async (t) => {
    const installation = await install(t);
    const gateway = await installation.serve();
    await notify(gateway, { title: 'well' });
    const holder = new DatabaseSync(join(installation.dataDir, 'tocsin.db'), { timeout: 2000 });
    t.after(() => holder.close());
    holder.exec('BEGIN IMMEDIATE');
    const answer = notify(gateway, { title: 'held up' });
    // Responded to after the request above was read.
    await send(gateway.api, { method: 'GET' });
    const { code, ms } = await timedStop(t, gateway);
    assert.equal(code, 0);
    assert.ok(ms < limitMs);
    const { status, body } = await answer;
    assert.equal(status, 200);
    assert.equal(body.stored, false);
  });

  for (const workers of [1, 2]) {
    test(`requests to ${workers} process${workers === 1 ? '' : 'es'} that wait for a frozen PostgreSQL get a response`, async (t) => {
      if (!canRun(t, postgresObstacle())) return;
      const postgres = await Postgres.start();
      t.after(() => postgres.stop());
      const settings = { TOCSIN_WORKERS: String(workers), TOCSIN_DATABASE_URL: await postgres.createDatabase() };
      const gateway = await (await install(t, settings)).serve();
      // Enough requests that each process has cached the key.
      const callers = new Connections(gateway, 8, false);
      await Promise.all(Array.from({ length: 64 }, () => callers.notify({ title: 'well' })));
      postgres.freeze();
      const answers = Array.from({ length: 8 }, () => notify(gateway, { title: 'held up' }));
      // Responded to after the requests above were read.
      for (let count = 0; count < 8; count += 1) await send(gateway.api, { method: 'GET' });
      const { code, ms } = await timedStop(t, gateway);
      assert.equal(code, 0);
      assert.ok(ms < limitMs, `${ms} ms`);
      for (const { status, body } of await Promise.all(answers)) {
        assert.deepEqual({ status, stored: body.stored }, { status: 200, stored: false });
      }
    });
  }

  test('the second signal ends it at once', async (t) => {
    const gateway = await (await install(t)).serve();
    await open(t, gateway.api, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    gateway.child.kill('SIGTERM');
    await refusesConnections(gateway);
    const { code, ms } = await timedStop(t, gateway);
    assert.equal(code, 1);
    assert.ok(ms < 1000, `${ms} ms`);
  });
});

suite('SIGTERM during the start lets it finish, shows the first key, and then shuts down cleanly', () => {
  const asFirst = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child'];
  for (const [name, workers, wrapper] of [
    ['one process', 1, []],
    ['two workers', 2, []],
    ['the first process of a container', 1, asFirst],
    ['two workers of the first process of a container', 2, asFirst],
  ] as const) {
    test(name, async (t) => {
      if (wrapper.length > 0 && !canRun(t, obstacleIn('unshare', [...wrapper.slice(1), 'true']))) return;
      const installation = await install(t);
      const gateway = installation.beginToServe({ TOCSIN_WORKERS: String(workers) }, [...wrapper]);
      const ready = gateway.ready();
      await eventually(
        'the store is being opened',
        limitMs,
        () => existsSync(join(installation.dataDir, 'tocsin.db')),
        Boolean,
      );
      const pid = gateway.child.pid as number;
      process.kill(wrapper.length > 0 ? (childrenOf(pid)[0] as number) : pid, 'SIGTERM');
      assert.match((await ready).firstRun?.key ?? '', /^svc_/);
      assert.equal(await exitWithin(gateway, limitMs), 0);
      const again = await installation.serve();
      assert.equal((await notify({ api: again.api, key: gateway.key }, { title: 'x' })).status, 200);
    });
  }
});

/** From here on the service is stopping. */
async function refusesConnections(gateway: GatewayProcess): Promise<void> {
  const { hostname, port } = new URL(gateway.api);
  await eventually(
    'no new connections are accepted',
    2000,
    () => isListening(Number(port), hostname),
    (listens) => !listens,
  );
}

/** A gateway whose first owner gets email, over a server that stalls from now on. */
async function serveWithStalledSmtp(t: TestContext) {
  const { installation, smtp } = await installWithSmtp(t);
  const gateway = await serveWithEmail(installation);
  await eventually(
    'the address is known',
    5000,
    () => notify(gateway, { title: 'Hello' }),
    ({ body }) => body.emailSent === true,
  );
  smtp.faults.data = 'stall';
  return { smtp, installation, gateway };
}
