// Two nodes on one PostgreSQL and one broker, neither of which keeps state that the other needs.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { SuccessResponse } from '@tocsin/contract';
import { type Cluster, clusterObstacle, startCluster } from '@tocsin/test-support/cluster.ts';
import { Connections } from '@tocsin/test-support/connections.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { Subscriber } from '@tocsin/test-support/mqtt-subscriber.ts';
import { pauseBetweenRequests } from '@tocsin/test-support/pace.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { startSmtpServer, type TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';

const promisedMs = 1000;
/** The duration of a lease, plus the interval of the search for expired ones. */
const takeOverMs = 40_000;

type TwoNodes = Cluster & { a: GatewayProcess; b: GatewayProcess };

async function start(t: TestContext, environment: Record<string, string> = {}): Promise<TwoNodes> {
  const cluster = await startCluster(t, 2, environment);
  const [a, b] = cluster.nodes as [GatewayProcess, GatewayProcess];
  return { ...cluster, a, b };
}

test('Two nodes act as one: keys, devices and idempotency keys of one are valid on the other', async (t) => {
  if (!canRun(t, clusterObstacle())) return;
  const { installation, nodes, a, b, key, deviceId, topic, mosquitto } = await start(t);
  const phone = await Subscriber.start(mosquitto.port, topic);
  t.after(() => phone.stop());

  // Both have just read their keys.
  for (const { api } of nodes) assert.equal((await notify({ api, key }, { title: 'hello' })).status, 200);
  const created = await installation.json<{ id: string; key: string }>('key', 'create');
  for (const { api } of nodes) {
    assert.equal((await notify({ api, key: created.key }, { title: 'new key' })).status, 200, 'at once');
  }

  await installation.json('key', 'revoke', created.id);
  const revokedAt = performance.now();
  for (const { api } of nodes) {
    await eventually(
      'the revoked key is refused',
      promisedMs,
      () => notify({ api, key: created.key }, { title: 'revoked' }),
      ({ status }) => status === 401,
    );
  }
  t.diagnostic(`refused by both ${(performance.now() - revokedAt).toFixed()} ms after the command ended`);

  await installation.json('device', 'pause', deviceId);
  for (const { api } of nodes) {
    const paused = () => notify({ api, key }, { title: 'x', deviceId });
    await eventually('the paused device gets nothing', promisedMs, paused, ({ status }) => status === 409);
  }
  await installation.json('device', 'resume', deviceId);

  const once = { 'Idempotency-Key': 'one-for-all' };
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, count) => notify({ api: (count % 2 ? a : b).api, key }, { title: 'once' }, once)),
  );
  const first = answers.filter(({ status, headers }) => status === 200 && !headers.has('idempotency-replayed'));
  assert.equal(first.length, 1);
  const again = await Promise.all(nodes.map(({ api }) => notify({ api, key }, { title: 'once' }, once)));
  for (const { body } of again) assert.deepEqual(body, first[0]?.body);
  const titles = () => phone.received.map(({ payload }) => (JSON.parse(payload) as { title: string }).title);
  assert.equal(titles().filter((title) => title === 'once').length, 1);
});

test('A node that is killed under load loses nothing acknowledged, and its pending sends are delivered by the other', {
  timeout: 120_000,
}, async (t) => {
  if (!canRun(t, clusterObstacle())) return;
  const { a, b, key, ownerId, topic, mosquitto, installation } = await start(t);
  const phone = await Subscriber.start(mosquitto.port, topic);
  t.after(() => phone.stop());
  const acknowledged = new Map<string, 'a' | 'b'>();
  const load = new AbortController();
  const loads = [putUnderLoad('a', { api: a.api, key }, acknowledged, load.signal)];
  loads.push(putUnderLoad('b', { api: b.api, key }, acknowledged, load.signal));
  await eventually(
    'both nodes work',
    20_000,
    () => acknowledged.size,
    (size) => size > 400,
  );
  await a.kill();
  const killedAt = performance.now();
  await eventually(
    'the other continues',
    20_000,
    () => acknowledged.size,
    (size) => size > 800,
  );
  load.abort();
  await Promise.all(loads);

  const stored = new Set<string>();
  for (let before: string | undefined; ; ) {
    const page = await installation.json<{ id: string }[]>(
      ...[
        'inbox',
        'list',
        '--owner',
        ownerId,
        '--limit',
        '1000',
        ...(before === undefined ? [] : ['--before', before]),
      ],
    );
    for (const { id } of page) stored.add(id);
    if (page.length < 1000) break;
    before = page.at(-1)?.id;
  }
  const lost = [...acknowledged.keys()].filter((id) => !stored.has(id));
  assert.deepEqual(lost, [], 'acknowledged, yet not stored');

  const idsOnPhone = (): string[] => phone.received.map(({ payload }) => (JSON.parse(payload) as { id: string }).id);
  const undelivered = await eventually(
    'everything that was stored is delivered',
    takeOverMs,
    () => [...stored.difference(new Set(idsOnPhone()))],
    (ids) => ids.length === 0,
  );
  assert.deepEqual(undelivered, []);
  const copies = Map.groupBy(idsOnPhone(), (id) => id);
  const twice = [...copies].filter(([, { length }]) => length > 1).map(([id]) => id);
  const twiceBySurvivor = twice.filter((id) => acknowledged.get(id) === 'b');
  assert.deepEqual(twiceBySurvivor, [], 'without a crash, once');
  for (const [, each] of copies) assert.ok(each.length <= 2, 'a crash repeats a message at most once');
  t.diagnostic(
    `${acknowledged.size} acknowledged, ${stored.size} stored, all delivered ${((performance.now() - killedAt) / 1000).toFixed(1)} s ` +
      `after the kill; ${stored.size - acknowledged.size} were interrupted; ${twice.length} delivered twice`,
  );
});

test('Deliveries queued for a provider are taken over if the node that is sending them is killed', {
  timeout: 150_000,
}, async (t) => {
  if (!canRun(t, clusterObstacle())) return;
  const smtpServer = await startSmtpServer();
  t.after(() => smtpServer.kill());
  const { a, b, key, ownerId, installation } = await start(t, {
    TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtpServer.port}`,
    TOCSIN_EMAIL_FROM: 'tocsin@example.com',
    TOCSIN_EMAIL_TIMEOUT_MS: '1000',
  });
  await installation.json('owner', 'set', ownerId, '--email', 'ann@example.com', '--email-alerts', 'on');
  await smtpServer.kill();
  const titles = Array.from({ length: 30 }, (_, index) => `email ${index}`);
  for (const [index, title] of titles.entries()) {
    const { body } = await notify({ api: (index % 2 ? a : b).api, key }, { title, sendMqtt: false });
    assert.ok(body.warnings.includes('redelivery_scheduled'), body.warnings.join());
  }
  // Only one node holds the target queue, and is killed while it drains it.
  b.child.kill('SIGSTOP');
  t.after(() => b.child.kill('SIGCONT'));
  await smtpServer.start();
  await eventually(
    'the first emails arrive',
    takeOverMs,
    () => smtpServer.emails.length,
    (count) => count >= 3,
  );
  await a.kill();
  const sentByDead = smtpServer.emails.length;
  b.child.kill('SIGCONT');
  await eventually(
    'the rest arrives',
    90_000,
    () => titlesIn(smtpServer).size,
    (size) => size === titles.length,
  );
  const order = [...titlesIn(smtpServer)];
  assert.deepEqual(order, titles, 'in the order of acceptance');
  const copies = smtpServer.emails.length - titles.length;
  assert.ok(copies <= sentByDead, 'at most what the dead node had sent is delivered twice');
  t.diagnostic(`${sentByDead} of 30 sent before the kill, ${copies} of them once more`);
  const left = await installation.json<unknown[]>('delivery', 'list', '--owner', ownerId, '--state', 'waiting');
  assert.deepEqual(left, []);
});

const titlesIn = (smtpServer: TestSmtpServer): Set<string> =>
  new Set(smtpServer.emails.map(({ raw }) => /^Subject: .*?(\w+ \d+)\r$/m.exec(raw)?.[1] ?? raw));

async function putUnderLoad(
  name: 'a' | 'b',
  target: { api: string; key: string },
  acknowledged: Map<string, 'a' | 'b'>,
  signal: AbortSignal,
): Promise<void> {
  const connections = new Connections(target, 8);
  const sendUntilDisconnected = async (): Promise<void> => {
    while (!signal.aborted) {
      const answer = await connections.notify({ title: `from ${name}`, mqttQos: 1 }).catch(() => null);
      if (answer === null) return;
      const body = JSON.parse(answer.text) as SuccessResponse;
      assert.equal(answer.status, 200, answer.text);
      assert.equal(body.stored, true, answer.text);
      acknowledged.set(body.id, name);
      await pauseBetweenRequests();
    }
  };
  await Promise.all(Array.from({ length: 8 }, sendUntilDisconnected));
  connections.close();
}
