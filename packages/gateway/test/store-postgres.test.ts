import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { openStore } from '../src/store/open-store.ts';
import { runStoreContract } from './store-contract.ts';
import { runDeliveryContract } from './store-contract-deliveries.ts';
import { runInboxContract } from './store-contract-inbox.ts';
import { runSignInContract } from './store-contract-sign-in.ts';

const obstacle = postgresObstacle();

if (obstacle !== null) {
  test('The PostgreSQL store', (t) => {
    canRun(t, obstacle);
  });
} else {
  let server: Postgres;
  before(async () => {
    // Other tests cover power failures.
    server = await Postgres.start(['fsync = off']);
  });
  after(() => server.stop());

  const createFixture = async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
    const databaseUrl = await server.createDatabase();
    return {
      open: () => openStore({ dataDir, databaseUrl, masterKey: null }, 'create'),
      runSql: async (text: string) => {
        await server.query(databaseUrl, text);
      },
      remove: async () => {
        await server.dropDatabase(databaseUrl);
        await rm(dataDir, { recursive: true, force: true });
      },
    };
  };
  runStoreContract('PostgreSQL', createFixture);
  runDeliveryContract('PostgreSQL', createFixture);
  runInboxContract('PostgreSQL', createFixture);
  runSignInContract('PostgreSQL', createFixture);
}
