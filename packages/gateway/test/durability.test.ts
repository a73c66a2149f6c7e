// Acknowledged notifications are stored and delivered, whenever the process is killed. `npm run test:long` kills it more
// often, and TOCSIN_TEST_KILLS=2000, as in `npm run torture`, for hours.
import { test } from 'node:test';
import { install } from '@tocsin/test-support/install.ts';
import { surviveKills } from '@tocsin/test-support/kill-run.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { withStore } from '@tocsin/test-support/stored-notifications.ts';
import { openStore } from '../src/store/open-store.ts';

const kills = Number(process.env.TOCSIN_TEST_KILLS ?? (isLongRun ? 20 : 4));
const timeout = 240_000 + kills * 5_000;

test(`After ${kills} kills under load every acknowledged notification is stored once and reaches its receivers (SQLite)`, {
  timeout,
}, async (t) => {
  const installation = await install(t, { TOCSIN_LOG_LEVEL: 'silent' });
  const { dataDir } = installation;
  await surviveKills(t, { installation, kills, withStore: (use) => withStore(dataDir, use) });
});

test(`After ${kills} kills under load every acknowledged notification is stored once and reaches its receivers (PostgreSQL)`, {
  timeout,
}, async (t) => {
  if (!canRun(t, postgresObstacle())) return;
  const postgres = await Postgres.start();
  t.after(() => postgres.stop());
  const databaseUrl = await postgres.createDatabase();
  const installation = await install(t, { TOCSIN_LOG_LEVEL: 'silent', TOCSIN_DATABASE_URL: databaseUrl });
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
