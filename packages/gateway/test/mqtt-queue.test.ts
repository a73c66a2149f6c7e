// The queue of a device as callers, owners and operators see it, in the running service, judged by what arrived.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { InboxDetail } from '@tocsin/contract/console';
import { type ConsoleClient, signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { type MqttDevice, Receiver } from '@tocsin/test-support/notification-load.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { scrape } from '@tocsin/test-support/scrape.ts';

const firstDevice = (gateway: GatewayProcess): MqttDevice => gateway.line.firstRun?.device as unknown as MqttDevice;

async function start(t: TestContext, environment: Record<string, string> = {}) {
  const installation = await install(t, environment);
  const gateway = await installation.serve();
  return { installation, gateway, device: firstDevice(gateway) };
}

test('The owner sees a message queued, then delivered, and the response reports that the device has never connected', async (t) => {
  const { installation, gateway, device } = await start(t);
  const { body } = await notify(gateway, { title: 'Too early' });
  assert.deepEqual([body.mqttPublishedCount, body.warnings], [1, ['mqtt_no_subscriber']]);
  const owner: ConsoleClient = await signInAtFirstRun(gateway);
  const look = async () => {
    const { deliveries } = (await owner.get<InboxDetail>(`/api/notifications/${body.id}`)).body;
    return deliveries.find(({ channel }) => channel === 'mqtt');
  };
  assert.deepEqual([(await look())?.state, (await look())?.endedAt], ['queued', null]);
  const ports = { TOCSIN_PORT: new URL(gateway.api).port };
  const early = await installation.run(['device', 'test', device.id], ports);
  assert.equal(early.exitCode, 0, early.stderr);
  assert.match(early.stdout, /has never connected/);
  const keys = await installation.json<{ id: string }[]>('key', 'list');
  assert.equal(keys.length, 1, 'the API key of the device test is deleted');
  const listed = await installation.run(['delivery', 'list', '--notification', body.id]);
  assert.match(listed.stdout, new RegExp(`${body.id}\\.mqtt\\.${device.id} +queued`));

  const receiver = new Receiver(t, device);
  await receiver.connect(gateway);
  const delivered = await eventually('it is delivered', 5000, look, (entry) => entry?.state === 'delivered');
  assert.ok((delivered?.endedAt ?? 0) > Date.now() - 60_000);
  assert.ok(receiver.ids.has(body.id));
  assert.deepEqual((await notify(gateway, { title: 'Now' })).body.warnings, []);
  const tested = await installation.run(['device', 'test', device.id], ports);
  assert.match(tested.stdout, /has acknowledged the test/);
  const later = await installation.run(['delivery', 'list', '--notification', body.id]);
  assert.match(later.stdout, /delivered/);
});

test('A notification and its messages to devices are one commit', async (t) => {
  const { installation, gateway } = await start(t);
  const owner = gateway.line.firstRun?.owner as string;
  await installation.json('device', 'create', '--owner', owner, '--name', 'Second');
  await eventually(
    'the gateway knows the second device',
    10_000,
    async () => (await notify(gateway, { title: 'Probe' })).body.mqttPublishedCount,
    (count) => count === 2,
  );
  const commits = async () => (await scrape(gateway)).sum('tocsin_store_batch_size_count') as number;
  const before = await commits();
  for (let count = 0; count < 30; count += 1) {
    const { body } = await notify(gateway, { title: `n${count}` });
    assert.equal(body.mqttPublishedCount, 2);
  }
  const made = (await commits()) - before;
  assert.ok(made >= 30 && made < 40, `${made} commits for 30 notifications, apart from maintenance`);
});

test('Messages dropped by drop_oldest are counted, dead, and can be sent again', async (t) => {
  const { installation, gateway, device } = await start(t, {
    TOCSIN_MQTT_QUEUE_LIMIT: '100',
    TOCSIN_MQTT_QUEUE_FULL: 'drop_oldest',
  });
  const ids: string[] = [];
  for (let count = 0; count < 110; count += 1) ids.push((await notify(gateway, { title: `n${count}` })).body.id);
  const dead = await installation.json<{ notificationId: string; error: string }[]>(
    'delivery',
    'list',
    '--state',
    'dead',
  );
  assert.deepEqual(dead.map(({ notificationId }) => notificationId).sort(), ids.slice(0, 10));
  assert.match(dead[0]?.error ?? '', /queue of the device is full/);
  assert.equal((await scrape(gateway)).sum('tocsin_mqtt_dropped_total', { reason: 'queue_full' }), 10);
  const receiver = new Receiver(t, device);
  await receiver.connect(gateway);
  await receiver.receiveAll(ids.slice(10));
  assert.equal((await installation.json<{ count: number }>('delivery', 'retry', '--all')).count, 10);
  await receiver.receiveAll(ids);
});

test('Messages dropped by drop_newest are rejected in the response, counted and dead', async (t) => {
  const { installation, gateway } = await start(t, {
    TOCSIN_MQTT_QUEUE_LIMIT: '100',
    TOCSIN_MQTT_QUEUE_FULL: 'drop_newest',
  });
  for (let count = 0; count < 100; count += 1) await notify(gateway, { title: `n${count}` });
  const { body } = await notify(gateway, { title: 'one too many' });
  assert.deepEqual([body.mqttPublishedCount, body.mqttFailedCount], [0, 1]);
  assert.match(body.mqttError ?? '', /queue of the device is full/);
  const dead = await installation.json<{ notificationId: string }[]>('delivery', 'list', '--state', 'dead');
  assert.deepEqual(
    dead.map(({ notificationId }) => notificationId),
    [body.id],
  );
  assert.equal((await scrape(gateway)).sum('tocsin_mqtt_dropped_total', { reason: 'queue_full' }), 1);
});
