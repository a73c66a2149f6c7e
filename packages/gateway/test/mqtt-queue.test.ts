// The queue of a device as callers, owners and operators see it, in the running service, judged by what arrived.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { InboxDetail } from '@tocsin/contract/console';
import { type ConsoleClient, signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { scrape } from '@tocsin/test-support/scrape.ts';
import { connectAsync, type MqttClient } from 'mqtt';

interface Device {
  id: string;
  mqtt: { username: string; password: string; topic: string };
}

const firstDevice = (gateway: GatewayProcess): Device => gateway.line.firstRun?.device as unknown as Device;

async function start(t: TestContext, environment: Record<string, string> = {}) {
  const installation = await Installation.create(environment);
  t.after(() => installation.remove());
  const gateway = await installation.serve();
  return { installation, gateway, device: firstDevice(gateway), key: gateway.key };
}

/** A QoS 1 client with a persistent session that counts each notification once, in the order of first arrival. */
class Receiver {
  readonly ids = new Set<string>();
  #client: MqttClient | null = null;
  readonly #device: Device;
  /** Pause between two messages. */
  pauseMs = 0;

  constructor(t: TestContext, device: Device) {
    this.#device = device;
    t.after(() => this.disconnect());
  }

  async connect(gateway: GatewayProcess): Promise<void> {
    const { username, password, topic } = this.#device.mqtt;
    this.#client = await connectAsync(gateway.line.mqtt as string, {
      ...{ username, password, clean: false, clientId: 'receiver', reconnectPeriod: 0 },
    });
    this.#client.handleMessage = ({ payload }, done) => {
      this.ids.add((JSON.parse(String(payload)) as { id: string }).id);
      if (this.pauseMs === 0) done();
      else setTimeout(done, this.pauseMs);
    };
    await this.#client.subscribeAsync(topic, { qos: 1 });
  }

  async disconnect(): Promise<void> {
    await this.#client?.endAsync(true);
    this.#client = null;
  }
}

/** Callers that send one request at a time each; returns the ids of the accepted notifications, by the response's status. */
async function load(
  target: { api: string; key: string },
  callers: number,
  ms: number,
  most = Number.POSITIVE_INFINITY,
) {
  const published: string[] = [];
  const scheduled: string[] = [];
  const failed: string[] = [];
  const until = performance.now() + ms;
  const byCaller: string[][] = [];
  let sent = 0;
  const call = async (): Promise<void> => {
    const own: string[] = [];
    byCaller.push(own);
    while (performance.now() < until && sent < most) {
      sent += 1;
      const { body } = await notify(target, { title: 'Load' });
      own.push(body.id);
      if (body.mqttPublishedCount === 1) published.push(body.id);
      else (body.warnings.includes('redelivery_scheduled') ? scheduled : failed).push(body.id);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return { published, scheduled, failed, byCaller };
}

const missing = (published: readonly string[], { ids }: Receiver): number =>
  published.filter((id) => !ids.has(id)).length;

const allArrive = (published: readonly string[], receiver: Receiver) =>
  eventually(
    'everything has arrived',
    60_000,
    () => missing(published, receiver),
    (count) => count === 0,
  );

for (const store of ['sqlite', 'postgres'] as const) {
  suite(`With ${store}`, () => {
    async function begin(t: TestContext) {
      if (store === 'sqlite') return start(t);
      if (!canRun(t, postgresObstacle())) return null;
      const server = await Postgres.start();
      t.after(() => server.stop());
      return start(t, { TOCSIN_DATABASE_URL: await server.createDatabase() });
    }

    test('a connected device gets everything that was reported as published, under load and in order', async (t) => {
      const begun = await begin(t);
      if (begun === null) return;
      const { gateway, device } = begun;
      const receiver = new Receiver(t, device);
      await receiver.connect(gateway);
      const { published, scheduled, failed, byCaller } = await load(gateway, 64, 3000);
      await allArrive(published, receiver);
      assert.deepEqual([scheduled.length, failed.length], [0, 0]);
      assert.equal(receiver.ids.size, published.length);
      const places = new Map([...receiver.ids].map((id, place) => [id, place]));
      for (const ids of byCaller) {
        const order = ids.map((id) => places.get(id) as number);
        assert.deepEqual(
          order,
          order.toSorted((a, b) => a - b),
          'the notifications of each caller are in order',
        );
      }
      t.diagnostic(`${published.length} published, all arrived`);
    });

    test('a device that was offline gets everything, and nothing is lost if the service is killed', async (t) => {
      const begun = await begin(t);
      if (begun === null) return;
      const { installation, gateway, device, key } = begun;
      const receiver = new Receiver(t, device);
      const all = (await load(gateway, 16, 500)).published;
      await receiver.connect(gateway);
      all.push(...(await load(gateway, 32, 1000)).published);
      await receiver.disconnect();
      all.push(...(await load(gateway, 32, 1000)).published);
      await gateway.kill();
      const again = await installation.serve();
      all.push(...(await load({ api: again.api, key }, 32, 500)).published);
      await receiver.connect(again);
      all.push(...(await load({ api: again.api, key }, 32, 500)).published);
      await allArrive(all, receiver);
    });
  });
}

test('A device that reads slowly misses nothing: messages beyond its queue are kept as deliveries', async (t) => {
  const { gateway, device } = await start(t, { TOCSIN_MQTT_QUEUE_LIMIT: '100' });
  const receiver = new Receiver(t, device);
  receiver.pauseMs = 100;
  await receiver.connect(gateway);
  const { published, scheduled, failed } = await load(gateway, 16, 30_000, 300);
  receiver.pauseMs = 0;
  assert.ok(scheduled.length > 0, 'the queue was full');
  assert.equal(failed.length, 0);
  const [line, ...others] = gateway.log.split('\n').filter((each) => each.includes('TOCSIN_MQTT_QUEUE_LIMIT'));
  assert.match(line ?? '', /queue of a device is full/);
  assert.deepEqual(others, [], 'it is logged once');
  await allArrive([...published, ...scheduled], receiver);
});

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
  await allArrive(ids.slice(10), receiver);
  assert.equal((await installation.json<{ count: number }>('delivery', 'retry', '--all')).count, 10);
  await allArrive(ids, receiver);
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
