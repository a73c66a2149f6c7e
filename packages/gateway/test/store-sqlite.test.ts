import { createSqliteFixture } from '@tocsin/test-support/store-fixture.ts';
import { runStoreContract } from './store-contract.ts';
import { runDeliveryContract } from './store-contract-deliveries.ts';
import { runInboxContract } from './store-contract-inbox.ts';
import { runSignInContract } from './store-contract-sign-in.ts';

runStoreContract('SQLite', createSqliteFixture);
runDeliveryContract('SQLite', createSqliteFixture);
runInboxContract('SQLite', createSqliteFixture);
runSignInContract('SQLite', createSqliteFixture);
