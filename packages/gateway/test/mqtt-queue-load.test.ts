// The queue of a device under load, judged by what arrived: a device that is connected, offline, slow, and a service that is
// killed. TOCSIN_TEST_LONG=1 runs 128 callers for 25 seconds and 20 kills.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { InboxDetail } from '@tocsin/contract/console';
import { signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { install } from '@tocsin/test-support/install.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { Accepted, type LoadOptions, load, type MqttDevice, Receiver } from '@tocsin/test-support/notification-load.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { canRun } from '@tocsin/test-support/requires.ts';

const callers = isLongRun ? 128 : 32;
const fullLoad: LoadOptions = isLongRun ? { callers, ms: 25_000 } : { callers, ms: 30_000, most: 400 };
/** For a device that is connected: enough that each of 64 callers sends several. */
const connectedLoad = isLongRun ? { ms: 3000 } : { ms: 3000, most: 2000 };
const killCount = isLongRun ? 20 : 2;
/** Small enough to be full in a short run; a long one fills the default of 100,000 messages on a fast machine. */
const queueLimit: Record<string, string> = isLongRun ? {} : { TOCSIN_MQTT_QUEUE_LIMIT: '100' };
const drainMs = isLongRun ? 600_000 : 60_000;
/** Deliveries that have not arrived and are looked up one by one. */
const sample = isLongRun ? 500 : 20;

for (const store of ['sqlite', 'postgres'] as const) {
  suite(`With ${store}`, () => {
    async function begin(t: TestContext, environment: Record<string, string> = {}) {
      const settings = { TOCSIN_QUOTA_ROWS_PER_DAY: '0', ...environment };
      if (store === 'postgres') {
        if (!canRun(t, postgresObstacle())) return null;
        const server = await Postgres.start();
        t.after(() => server.stop());
        Object.assign(settings, { TOCSIN_DATABASE_URL: await server.createDatabase() });
      }
      const installation = await install(t, settings);
      const gateway = await installation.serve();
      const device = gateway.line.firstRun?.device as unknown as MqttDevice;
      return { installation, gateway, receiver: new Receiver(t, device), key: gateway.key };
    }

    test('a connected device gets everything that was reported as published, under load and in order', async (t) => {
      const begun = await begin(t);
      if (begun === null) return;
      const { gateway, receiver } = begun;
      await receiver.connect(gateway);
      const { published, scheduled, failed, byCaller } = await load(gateway, { ...connectedLoad, callers: 64 });
      await receiver.receiveAll(published);
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

    test('a device that is offline for the whole load gets everything when it is back', async (t) => {
      const begun = await begin(t);
      if (begun === null) return;
      const { gateway, receiver } = begun;
      await receiver.connect(gateway);
      const before = await load(gateway, { callers, ms: 500 });
      await receiver.disconnect();
      const offline = await load(gateway, fullLoad);
      assert.deepEqual([before.failed, offline.failed], [[], []]);
      const missing = receiver.missing(offline.all).length;
      assert.ok(missing > 0, 'the device was offline');
      await receiver.connect(gateway);
      await receiver.receiveAll([...before.all, ...offline.all], drainMs);
      t.diagnostic(
        `${offline.published.length} published and ${offline.scheduled.length} scheduled while the device was offline, all arrived`,
      );
    });

    test('a device that reads 10 messages a second misses nothing: each is reported as queued, or has arrived', async (t) => {
      const begun = await begin(t, queueLimit);
      if (begun === null) return;
      const { gateway, receiver } = begun;
      const owner = await signInAtFirstRun(gateway);
      receiver.pauseMs = 100;
      await receiver.connect(gateway);
      const accepted = await load(gateway, fullLoad);
      assert.deepEqual(accepted.failed, []);
      if (!isLongRun) {
        assert.ok(accepted.scheduled.length > 0, 'the queue was full');
        const [line, ...others] = gateway.log.split('\n').filter((each) => each.includes('TOCSIN_MQTT_QUEUE_LIMIT'));
        assert.match(line ?? '', /queue of a device is full/);
        assert.deepEqual(others, [], 'it is logged once');
      }
      const missing = receiver.missing(accepted.all);
      assert.ok(missing.length > accepted.all.length / 2, 'the device is slow');
      const step = Math.max(1, Math.floor(missing.length / sample));
      for (let index = 0; index < missing.length; index += step) {
        const id = missing[index] as string;
        const { deliveries } = (await owner.get<InboxDetail>(`/api/notifications/${id}`)).body;
        const state = deliveries.find(({ channel }) => channel === 'mqtt')?.state;
        assert.ok(state === 'queued' || state === 'waiting' || receiver.ids.has(id), `${id} is ${state}`);
      }
      const arrivedSlowly = receiver.ids.size;
      receiver.pauseMs = 0;
      await receiver.receiveAll(accepted.all, drainMs);
      t.diagnostic(
        `${accepted.published.length} published and ${accepted.scheduled.length} scheduled; ` +
          `${arrivedSlowly} arrived slowly, the rest when the device was fast again`,
      );
    });

    test('a service that is killed again and again loses nothing for a device that comes and goes', async (t) => {
      const begun = await begin(t);
      if (begun === null) return;
      const { installation, receiver, key } = begun;
      let { gateway } = begun;
      const acknowledged: string[] = [];
      for (let kill = 0; kill < killCount; kill += 1) {
        if (kill % 2 === 1) await receiver.connect(gateway);
        const accepted = new Accepted();
        const loading = load({ api: gateway.api, key }, { callers, ms: 60_000, mayBeKilled: true }, accepted);
        // A different moment each time, with requests in progress.
        const atLeast = 50 + ((kill * 137) % 500);
        await eventually(
          'requests were accepted',
          60_000,
          () => accepted.all.length,
          (count) => count >= atLeast,
        );
        await gateway.kill();
        await loading;
        assert.deepEqual(accepted.failed, []);
        acknowledged.push(...accepted.all);
        await receiver.disconnect();
        gateway = await installation.serve();
      }
      const missing = receiver.missing(acknowledged).length;
      await receiver.connect(gateway);
      await receiver.receiveAll(acknowledged, drainMs);
      t.diagnostic(
        `${killCount} kills, ${acknowledged.length} acknowledged, ${missing} of them arrived after the last kill`,
      );
    });
  });
}
