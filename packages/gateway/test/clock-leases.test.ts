// A clock that was wrong and is corrected: what was stored under it is delivered once, and no idempotency key stays in
// use.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { fakeClockObstacle, withClockOff } from '@tocsin/test-support/fake-clock.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { startPhone } from '@tocsin/test-support/mqtt-subscriber.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';

const wrong = ['+1h', '-1h', '+1d', '-1d'] as const;
type Wrong = (typeof wrong)[number];
/** A lease of 30 s may still be valid if the clock was behind. */
const patienceMs = 90_000;

/** `short`: runs in the short version of the suite. */
const stores = {
  SQLite: { short: ['-1h', '+1d'] as Wrong[], obstacle: () => null, environment: async () => ({}) },
  PostgreSQL: {
    short: ['+1h'] as Wrong[],
    obstacle: postgresObstacle,
    environment: async (t: TestContext): Promise<Record<string, string>> => {
      const postgres = await Postgres.start(['fsync = off']);
      t.after(() => postgres.stop());
      return { TOCSIN_DATABASE_URL: await postgres.createDatabase() };
    },
  },
};

for (const [name, store] of Object.entries(stores)) {
  for (const by of isLongRun ? wrong : store.short) {
    test(`Deliveries interrupted under a clock that was wrong by ${by} are sent after the correction (${name})`, {
      timeout: 240_000,
    }, async (t) => {
      if (!canRun(t, fakeClockObstacle() ?? mosquittoObstacle() ?? store.obstacle())) return;
      const mosquitto = await Mosquitto.start({ isPersistent: true });
      t.after(() => mosquitto.stop());
      const installation = await install(t, {
        TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${mosquitto.port}`,
        ...(await store.environment(t)),
      });
      const wrongly = await installation.serve(withClockOff(by));
      const { owner, key, device } = wrongly.line.firstRun as { owner: string; key: string; device: { id: string } };
      const phone = await startPhone(t, mosquitto.port, owner, device.id);
      const send = ({ api }: GatewayProcess, title: string) =>
        notify({ api, key }, { title, mqttQos: 1 }, { 'Idempotency-Key': title });
      const arrived = () => phone.received.map(({ payload }) => (JSON.parse(payload) as { title: string }).title);

      assert.equal((await send(wrongly, 'before')).body.mqttPublishedCount, 1);
      // The broker is down, so these are queued.
      await mosquitto.shutDown();
      const waiting = ['waiting-0', 'waiting-1'];
      for (const title of waiting) await send(wrongly, title);
      // The broker accepts nothing: these are stored and in flight when the process is killed.
      await mosquitto.run();
      mosquitto.freeze();
      const interrupted = ['interrupted-0', 'interrupted-1', 'interrupted-2'];
      for (const title of interrupted) send(wrongly, title).catch(() => undefined);
      const inbox = () => installation.json<{ title: string }[]>('inbox', 'list', '--limit', '100');
      await eventually(
        'all are stored',
        30_000,
        async () => (await inbox()).length,
        (count) => count === 6,
      );
      await wrongly.kill();
      mosquitto.thaw();

      const rightly = await installation.serve();
      const wanted = ['before', ...waiting, ...interrupted];
      await eventually(
        'all of them arrive',
        patienceMs,
        () => wanted.filter((title) => !arrived().includes(title)),
        (missing) => missing.length === 0,
      );
      // 24 hours of a clock that was a day behind have passed, so the keys have expired.
      for (const title of by === '-1d' ? [] : wanted) {
        const { body } = await eventually(
          `the key of ${title} gets a response`,
          patienceMs,
          () => send(rightly, title),
          ({ status }) => status !== 409,
        );
        assert.equal(body.ok, true);
        assert.equal(body.stored, true);
      }
      const stored = (await inbox()).map(({ title }) => title);
      assert.deepEqual(stored.toSorted(), wanted.toSorted(), 'none is stored twice');
      assert.deepEqual(await installation.json<unknown[]>('delivery', 'list', '--state', 'waiting'), []);
      const twice = arrived().filter((title, index, all) => all.indexOf(title) !== index);
      // Those in flight may have reached the broker before the process was killed.
      assert.deepEqual(
        twice.filter((title) => !title.startsWith('interrupted')),
        [],
        'none arrives twice',
      );
    });
  }
}
