// Opens the store: the database brought up to date, the master key found and proved right, the nouns put together.
import { join } from 'node:path';
import { sql } from 'kysely';
import { Problem } from '../core/problem.ts';
import { type Store, StoreUnavailable } from '../usecases/ports/index.ts';
import { databaseFileName, isThere, makeFolder, masterKeyFileName } from './files/data-folder.ts';
import { refuseEmptyDatabase, refuseLostDatabase, refuseUnfinishedRestore } from './files/lost-database.ts';
import { createClockStore } from './repositories/clock.ts';
import { createSignInKeyStore } from './repositories/credentials.ts';
import { createDeliveryStore } from './repositories/deliveries.ts';
import { createDeviceStore } from './repositories/devices.ts';
import { createDispatchStore } from './repositories/dispatches.ts';
import { createIdempotencyStore } from './repositories/idempotency.ts';
import { createInboxStore } from './repositories/inbox.ts';
import { createKeyStore } from './repositories/keys.ts';
import { createLimitStore } from './repositories/limits.ts';
import { createMqttSessionStore } from './repositories/mqtt-sessions.ts';
import { createNotificationStore } from './repositories/notifications.ts';
import { createOwnerTotals } from './repositories/owner-totals.ts';
import { createOwnerStore } from './repositories/owners.ts';
import { createProbe } from './repositories/probe.ts';
import { createPushTargetStore } from './repositories/push-targets.ts';
import { createSessionStore } from './repositories/sessions.ts';
import { admitUse } from './schema/copy-marker.ts';
import type { Database, OnBatch } from './schema/database.ts';
import { createLegacyCheck } from './schema/legacy-installation.ts';
import { migrations } from './schema/migrations.ts';
import { admitSchema } from './schema/schema-version.ts';
import type { StoreOptions } from './schema/store-options.ts';
import { SearchThread } from './search/thread-client.ts';
import { createSqliteDatabase } from './sqlite/database.ts';
import { createMasterKeyStore } from './upkeep/rotation.ts';
import { createTakeOverUpkeep, findRolledBack, prepareRowVersions, trustRows } from './upkeep/row-version-scan.ts';
import { verify } from './upkeep/verify.ts';
import { Keyring } from './vault/keyring.ts';
import { masterKeySource, removeAbandonedDrafts } from './vault/master-key.ts';
import { MasterKeyring } from './vault/master-keyring.ts';
import { RowVersions } from './vault/row-versions.ts';
import { createSecretStore } from './vault/secrets.ts';

/** With `existing` a folder without a database is a mistake, most often made by standing in the wrong folder. */
export async function openStore(
  {
    dataDir,
    databaseUrl = null,
    masterKey,
    onMasterKeyMissing = () => undefined,
    onNewerSchema = () => undefined,
    onRowRefused = () => undefined,
    onBatch,
    onFull,
  }: StoreOptions,
  mode: 'create' | 'existing',
): Promise<Store> {
  if (mode === 'create' && (databaseUrl === null || masterKey === null)) makeFolder(dataDir);
  if (mode === 'create' && masterKey === null) removeAbandonedDrafts(join(dataDir, masterKeyFileName));
  const database =
    databaseUrl === null
      ? openSqlite(dataDir, mode, masterKey === null, onBatch)
      : // Its driver is loaded only where it is needed.
        await (await import('./postgres/database.ts')).openPostgresDatabase(databaseUrl, mode, onBatch);
  const keyFile = join(dataDir, masterKeyFileName);
  try {
    if (databaseUrl !== null && masterKey === null && mode === 'create') await refuseEmptyDatabase(database, keyFile);
    const steps = migrations(database.build, database.dialect);
    await orWhileFull(
      database,
      onFull,
      () => database.migrate(steps),
      () => isUpToDate(database),
    );
    await admitSchema(database, steps, onNewerSchema);
    await admitUse(database);
    const keySource = masterKeySource(masterKey, keyFile);
    const master = await MasterKeyring.open(database, keySource, onMasterKeyMissing);
    const keyring = new Keyring(database, master);
    const versions = new RowVersions(database, master, onRowRefused);
    await orWhileFull(
      database,
      onFull,
      () => prepareRowVersions(database, keyring, versions, mode),
      async () => typeof (await versions.readHead()) === 'object',
    );
    const store = assemble(database, keyring, versions);
    // A database that cannot be written is found out now, not with the first notification.
    if (mode === 'create') await orWhileFull(database, onFull, store.check);
    return store;
  } catch (error) {
    await database.close();
    if (error instanceof StoreUnavailable) {
      throw new Problem(
        `The database ${database.name} cannot be opened: ${error.message}. ${database.explain(error).advice}`,
      );
    }
    throw error;
  }
}

/**
 * On a full disk a server that is started serves what it can: it reads, reports that nothing is stored, and recovers by
 * itself. Others are told what is wrong.
 */
async function orWhileFull(
  database: Database,
  onFull: StoreOptions['onFull'],
  work: () => Promise<void>,
  isGoodEnough = async (): Promise<boolean> => true,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isFull = error instanceof StoreUnavailable && onFull !== undefined && database.explain(error).isFull;
    if (!isFull || !(await isGoodEnough())) throw error;
    onFull();
  }
}

/** Of a database file; false for a new one. */
async function isUpToDate({ build, dialect, read }: Database): Promise<boolean> {
  const tables = await read(sql`select 1 from sqlite_schema where name = 'schema_migrations'`.compile(build));
  if (tables.length === 0) return false;
  const rows = await read(sql<{ name: string }>`select name from schema_migrations`.compile(build));
  const applied = new Set(rows.map(({ name }) => name));
  return migrations(build, dialect).every(({ name }) => applied.has(name));
}

function openSqlite(dataDir: string, mode: 'create' | 'existing', hasOwnKeyFile: boolean, onBatch?: OnBatch): Database {
  const file = join(dataDir, databaseFileName);
  refuseUnfinishedRestore(file);
  if (mode === 'create' && hasOwnKeyFile) refuseLostDatabase(file, join(dataDir, masterKeyFileName));
  if (mode === 'existing' && !isThere(file)) {
    throw new Problem(
      `There is no Tocsin data in ${dataDir}. Run this where the server runs, or set TOCSIN_DATA_DIR; ` +
        "'tocsin serve' starts a new store.",
    );
  }
  return createSqliteDatabase(file, onBatch);
}

function assemble(database: Database, keyring: Keyring, versions: RowVersions): Store {
  const pushTargets = createPushTargetStore(database, keyring);
  const deliveries = createDeliveryStore(database, keyring);
  const searchThread = new SearchThread();
  const owners = createOwnerStore(database, keyring, pushTargets, versions);
  const keys = createKeyStore(database, keyring, versions);
  return {
    ...owners,
    ...keys,
    ...createProbe(database, keyring, { ...owners, ...keys }),
    ...createDeviceStore(database, keyring),
    ...createNotificationStore(database, keyring, versions),
    ...createIdempotencyStore(database, keyring),
    ...deliveries.store,
    ...createDispatchStore(database, deliveries.keep),
    ...pushTargets,
    ...createMqttSessionStore(database, deliveries.keepDead),
    ...createSecretStore(database, keyring),
    ...createMasterKeyStore(database, keyring.master),
    ...createLimitStore(database),
    ...createClockStore(database),
    ...createLegacyCheck(database),
    ...createInboxStore(database, keyring, searchThread),
    ...createSessionStore(database, keyring, versions),
    ...createSignInKeyStore(database, keyring, versions),
    ownerTotals: createOwnerTotals(database, keyring),
    check: async () => {
      // A write that changes nothing a cache would notice, and a read of what was written.
      await database.write([database.build.updateTable('changes').set({ id: 1 }).where('id', '=', 1).compile()]);
      await database.read(database.build.selectFrom('changes').select('generation').compile());
      await keyring.master.check();
    },
    onChange: (listener) => database.onChange(listener),
    claimBroker: (onShared) => database.claimBroker?.(onShared),
    examine: (signal) => database.examine(signal),
    checkpoint: async () => database.checkpoint?.(),
    verify: () => verify(database, keyring, versions),
    findRolledBackRows: () => findRolledBack(database, keyring, versions),
    trustRows: () => trustRows(database, keyring, versions),
    takeOverRows: createTakeOverUpkeep(database, keyring, versions),
    close: async () => {
      await searchThread.close();
      await database.close();
    },
  };
}
