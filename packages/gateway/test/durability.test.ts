// What was acknowledged is stored, whenever the process is killed. TOCSIN_TEST_KILLS=2000 makes it a long run, as
// `npm run torture` does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import mqtt from 'mqtt';
import { openStore } from '../src/store/open-store.ts';
import { eventually } from './support/eventually.ts';
import { Installation } from './support/gateway-process.ts';
import { surviveKills } from './support/kill-run.ts';
import { Postgres, postgresObstacle } from './support/postgres.ts';
import { canRun } from './support/requires.ts';
import { withStore } from './support/stored-notifications.ts';

const kills = Number(process.env.TOCSIN_TEST_KILLS ?? 20);
const timeout = 60_000 + kills * 5_000;
/** A lease, and the look for those that have passed. */
const takenUpMs = 40_000;

test(`After ${kills} kills under load every acknowledged notification is stored exactly once and opens (SQLite)`, {
  timeout,
}, async (t) => {
  const installation = await Installation.create({ TOCSIN_LOG_LEVEL: 'silent' });
  t.after(() => installation.remove());
  const { dataDir } = installation;
  await surviveKills(t, { installation, kills, withStore: (use) => withStore(dataDir, use) });
});

test(`After ${kills} kills under load every acknowledged notification is stored exactly once and opens (PostgreSQL)`, {
  timeout,
}, async (t) => {
  if (!canRun(t, postgresObstacle())) return;
  const postgres = await Postgres.start();
  t.after(() => postgres.stop());
  const databaseUrl = await postgres.createDatabase();
  const installation = await Installation.create({ TOCSIN_LOG_LEVEL: 'silent', TOCSIN_DATABASE_URL: databaseUrl });
  t.after(() => installation.remove());
  const { dataDir } = installation;
  await surviveKills(t, {
    installation,
    kills,
    withStore: async (use) => {
      const store = await openStore({ dataDir, databaseUrl, masterKey: null }, 'existing');
      try {
        return await use(store);
      } finally {
        await store.close();
      }
    },
  });
});

test('What a kill cut off between storing and sending reaches the device after the restart', {
  timeout: 120_000,
}, async (t) => {
  const installation = await Installation.create({ TOCSIN_LOG_LEVEL: 'silent' });
  t.after(() => installation.remove());
  const { dataDir } = installation;
  const first = await installation.serve();
  const { firstRun } = first.line;
  assert.ok(firstRun);
  const { owner, key, device } = firstRun;
  const phone = { username: device.id, password: device.mqtt.password, clientId: 'phone', clean: false };
  // A session that waits while its client is away: whatever is told from now on is kept for it.
  const client = await mqtt.connectAsync(first.line.mqtt as string, phone);
  await client.subscribeAsync(`tocsin/${owner}/${device.id}/notifications`, { qos: 1 });
  await client.endAsync();
  await first.stop();

  const stored = await surviveKills(t, {
    installation,
    firstRun: { owner, key },
    kills: 5,
    withStore: (use) => withStore(dataDir, use),
  });
  const gateway = await installation.serve();
  const told = new Set<string>();
  const back = mqtt.connect(gateway.line.mqtt as string, phone);
  t.after(() => back.endAsync(true));
  back.on('message', (_topic, payload) => void told.add((JSON.parse(payload.toString()) as { id: string }).id));
  const missing = await eventually(
    'everything that was stored is told',
    takenUpMs,
    () => stored.filter((each) => !told.has(each)).length,
    (count) => count === 0,
  );
  assert.equal(missing, 0);
  t.diagnostic(`${told.size} told`);
});
