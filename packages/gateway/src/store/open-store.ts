// Opens the store: migrates the database, checks the master key, and creates the repositories.
import { join } from 'node:path';
import { sql } from 'kysely';
import { Problem } from '../core/problem.ts';
import { type Store, StoreUnavailable } from '../usecases/ports/index.ts';
import { databaseFileName, fileExists, makeFolder, masterKeyFileName } from './files/data-directory.ts';
import { refuseEmptyDatabase, refuseLostDatabase, refuseUnfinishedRestore } from './files/lost-database.ts';
import { createChangeFeed } from './repositories/changes.ts';
import { createClockRepository } from './repositories/clock.ts';
import { createDeliveryRepository } from './repositories/deliveries.ts';
import { createDeliveryRows } from './repositories/delivery-rows.ts';
import { createDeviceRepository } from './repositories/devices.ts';
import { createDispatchRepository } from './repositories/dispatches.ts';
import { createHookRepository } from './repositories/hooks.ts';
import { createIdempotencyRepository } from './repositories/idempotency.ts';
import { createIdentityRepository } from './repositories/identities.ts';
import { createInboxRepository } from './repositories/inbox.ts';
import { createDeliveryInserts } from './repositories/insert-deliveries.ts';
import { createKeyRepository } from './repositories/keys.ts';
import { createLimitRepository } from './repositories/limits.ts';
import { createMqttQueueRepository } from './repositories/mqtt-queues.ts';
import { createMqttSessionRepository } from './repositories/mqtt-sessions.ts';
import { createNotificationRepository } from './repositories/notifications.ts';
import { createOneTimeLinkRepository } from './repositories/one-time-links.ts';
import { createOwnerRepository } from './repositories/owners.ts';
import { createPasskeyRepository } from './repositories/passkeys.ts';
import { createProbe } from './repositories/probe.ts';
import { createPurge } from './repositories/purge.ts';
import { createPushTargetRepository } from './repositories/push-targets.ts';
import { SavedListeners } from './repositories/saved-listeners.ts';
import { createSessionRepository } from './repositories/sessions.ts';
import { createSignatureRepository } from './repositories/signatures.ts';
import { createTargetQueueRepository } from './repositories/target-queues.ts';
import { assertNotCopying } from './schema/copy-marker.ts';
import type { Database, OnBatch } from './schema/database.ts';
import { createLegacyCheck } from './schema/legacy-installation.ts';
import { migrations } from './schema/migrations.ts';
import { checkSchemaVersion } from './schema/schema-version.ts';
import type { ParseContent, StoreOptions } from './schema/store-options.ts';
import { SearchThread } from './search/thread-client.ts';
import { createSqliteDatabase } from './sqlite/database.ts';
import { createMasterKeyRepository } from './upkeep/rotation.ts';
import { createAdoptionUpkeep, findRolledBack, prepareRowVersions, trustRows } from './upkeep/row-version-scan.ts';
import { verify } from './upkeep/verify.ts';
import { Keyring } from './vault/keyring.ts';
import { masterKeySource, removeAbandonedDrafts } from './vault/master-key.ts';
import { MasterKeyring } from './vault/master-keyring.ts';
import { RowVersions } from './vault/row-versions.ts';
import { createSecretRepository } from './vault/secrets.ts';

/** With `existing` a missing database is an error, most often caused by the wrong working directory. */
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
    parseContent = (plaintext) => JSON.parse(plaintext.toString('utf8')),
  }: StoreOptions,
  mode: 'create' | 'existing',
): Promise<Store> {
  if (mode === 'create' && (databaseUrl === null || masterKey === null)) makeFolder(dataDir);
  if (mode === 'create' && masterKey === null) removeAbandonedDrafts(join(dataDir, masterKeyFileName));
  const database =
    databaseUrl === null
      ? openSqlite(dataDir, mode, masterKey === null, onBatch)
      : // The driver is loaded only if it is needed.
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
    await checkSchemaVersion(database, steps, onNewerSchema);
    await assertNotCopying(database);
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
    const store = assemble(database, keyring, versions, parseContent);
    // Finds a database that cannot be written now, not with the first notification.
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
 * On a full disk a server starts anyway: it reads, reports that nothing is stored, and recovers by itself. Commands fail
 * instead.
 */
async function orWhileFull(
  database: Database,
  onFull: StoreOptions['onFull'],
  work: () => Promise<void>,
  isUsable = async (): Promise<boolean> => true,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isFull = error instanceof StoreUnavailable && onFull !== undefined && database.explain(error).isFull;
    if (!isFull || !(await isUsable())) throw error;
    onFull();
  }
}

/** Whether all migrations are applied to a database file; false for a new one. */
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
  if (mode === 'existing' && !fileExists(file)) {
    throw new Problem(
      `There is no Tocsin data in ${dataDir}. Run this where the server runs, or set TOCSIN_DATA_DIR; ` +
        "'tocsin serve' starts a new store.",
    );
  }
  return createSqliteDatabase(file, onBatch);
}

function assemble(database: Database, keyring: Keyring, versions: RowVersions, parseContent: ParseContent): Store {
  const searchThread = new SearchThread();
  const saved = new SavedListeners();
  const pushTargets = createPushTargetRepository(database, keyring);
  const owners = createOwnerRepository(database, keyring, pushTargets, versions);
  const keys = createKeyRepository(database, keyring, versions);
  const hooks = createHookRepository(database, keyring, versions);
  const deliveryRows = createDeliveryRows(keyring);
  const deliveryInserts = createDeliveryInserts(database, deliveryRows);
  return {
    owners,
    keys,
    hooks,
    devices: createDeviceRepository(database, keyring),
    pushTargets,
    changes: createChangeFeed(database),
    notifications: saved.watch(createNotificationRepository(database, keyring, parseContent)),
    idempotency: createIdempotencyRepository(database, keyring),
    signatures: createSignatureRepository(database),
    dispatches: createDispatchRepository(database, deliveryInserts),
    targetQueues: createTargetQueueRepository(database, deliveryRows),
    deliveries: createDeliveryRepository(database, deliveryRows, deliveryInserts),
    inbox: {
      ...createInboxRepository(database, keyring, searchThread, parseContent),
      onSaved: (listener) => saved.add(listener),
    },
    mqttSessions: createMqttSessionRepository(database),
    mqttQueues: createMqttQueueRepository(database, deliveryInserts),
    sessions: createSessionRepository(database, keyring, versions),
    oneTimeLinks: createOneTimeLinkRepository(database, keyring, versions),
    passkeys: createPasskeyRepository(database, keyring, versions),
    identities: createIdentityRepository(database, keyring, versions),
    limits: createLimitRepository(database),
    secrets: createSecretRepository(database, keyring),
    masterKeys: createMasterKeyRepository(database, keyring.master),
    clock: createClockRepository(database),
    maintenance: {
      purge: createPurge(database, versions),
      verify: () => verify(database, keyring, versions),
      examine: (signal) => database.examine(signal),
      checkpoint: async () => database.checkpoint?.(),
      findRolledBackRows: () => findRolledBack(database, keyring, versions),
      trustRows: () => trustRows(database, keyring, versions),
      adoptRows: createAdoptionUpkeep(database, keyring, versions),
    },
    check: async () => {
      // A write that does not change the generation, so that no cache is invalidated, and a read.
      await database.write([database.build.updateTable('changes').set({ id: 1 }).where('id', '=', 1).compile()]);
      await database.read(database.build.selectFrom('changes').select('generation').compile());
      await keyring.master.check();
    },
    probe: createProbe(database, keyring, keys, hooks, owners),
    isLegacy: createLegacyCheck(database),
    claimBroker: (onShared) => database.claimBroker?.(onShared),
    close: async () => {
      await searchThread.close();
      await database.close();
    },
  };
}
