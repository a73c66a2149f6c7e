// Opens the store: the database brought up to date, the master key found and proved right, the nouns put together.
import { join } from 'node:path';
import { sql } from 'kysely';
import type { GivenMasterKeys } from '../core/master-key-format.ts';
import { Problem } from '../core/problem.ts';
import { type Store, StoreUnavailable } from '../gateway/ports.ts';
import { createClockStore } from './clock.ts';
import { admitUse } from './copy-marker.ts';
import { isThere, makeFolder } from './data-folder.ts';
import type { Database, OnBatch } from './database.ts';
import { createDeliveryStore } from './deliveries.ts';
import { createDeviceStore } from './devices.ts';
import { createDispatchStore } from './dispatches.ts';
import { createIdempotencyStore } from './idempotency.ts';
import { createInboxStore } from './inbox.ts';
import { Keyring } from './keyring.ts';
import { createKeyStore } from './keys.ts';
import { createLegacyCheck } from './legacy-installation.ts';
import { createLimitStore } from './limits.ts';
import { refuseEmptyDatabase, refuseLostDatabase, refuseUnfinishedRestore } from './lost-database.ts';
import { masterKeySource, removeAbandonedDrafts } from './master-key.ts';
import { MasterKeyring } from './master-keyring.ts';
import { migrations } from './migrations.ts';
import { createMqttSessionStore } from './mqtt-sessions.ts';
import { createNotificationStore } from './notifications.ts';
import { createOwnerTotals } from './owner-totals.ts';
import { createOwnerStore } from './owners.ts';
import { createProbe } from './probe.ts';
import { createPushTargetStore } from './push-targets.ts';
import { createMasterKeyStore } from './rotation.ts';
import { createTakeOverUpkeep, findRolledBack, prepareRowVersions, trustRows } from './row-version-scan.ts';
import { RowVersions } from './row-versions.ts';
import { admitSchema } from './schema-version.ts';
import { SearchThread } from './search/thread-client.ts';
import { createSecretStore } from './secrets.ts';
import { createSessionStore } from './sessions.ts';
import { createSignInKeyStore } from './sign-in-keys.ts';
import { createSqliteDatabase } from './sqlite/database.ts';
import { verify } from './verify.ts';

export interface StoreOptions {
  dataDir: string;
  /** PostgreSQL; null: SQLite in the data directory. The master key may lie in the data directory either way. */
  databaseUrl?: string | null;
  masterKey: GivenMasterKeys | null;
  /** Hears what to do when a master key comes into use that this process does not have. */
  onMasterKeyMissing?: (message: string) => void;
  /** Called where a newer version has extended the schema, with what to do. */
  onNewerSchema?: (message: string) => void;
  /** Hears of rows that are refused because an earlier state of them was put back. */
  onRowRefused?: (message: string) => void;
  onBatch?: OnBatch;
  /** Hears that the disk is full and nothing can be stored now; without it such a store is not opened. */
  onFull?: () => void;
}

export const databaseFileName = 'tocsin.db';
export const masterKeyFileName = 'master.key';

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
