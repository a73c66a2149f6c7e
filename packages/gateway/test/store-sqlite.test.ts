import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '../src/store/open-store.ts';
import { runStoreContract } from './store-contract.ts';
import { runDeliveryContract } from './store-contract-deliveries.ts';
import { runInboxContract } from './store-contract-inbox.ts';
import { runSignInContract } from './store-contract-sign-in.ts';

async function createFixture() {
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
  return {
    open: () => openStore({ dataDir, masterKey: null }, 'create'),
    runSql: async (text: string) => {
      const db = new DatabaseSync(join(dataDir, 'tocsin.db'), { timeout: 2000 });
      db.exec(text);
      db.close();
    },
    remove: () => rm(dataDir, { recursive: true, force: true }),
  };
}

runStoreContract('SQLite', createFixture);
runDeliveryContract('SQLite', createFixture);
runInboxContract('SQLite', createFixture);
runSignInContract('SQLite', createFixture);
