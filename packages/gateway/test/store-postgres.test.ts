import { after, before, test } from 'node:test';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { createPostgresFixture } from '@tocsin/test-support/store-fixture.ts';
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

  const createFixture = () => createPostgresFixture(server);
  runStoreContract('PostgreSQL', createFixture);
  runDeliveryContract('PostgreSQL', createFixture);
  runInboxContract('PostgreSQL', createFixture);
  runSignInContract('PostgreSQL', createFixture);
}
