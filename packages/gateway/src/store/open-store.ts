// Opens the store: the database brought up to date, the master key found and proved right, the nouns put together.

import type { KeyObject } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../core/problem.ts';
import { type Store, StoreUnavailable } from '../gateway/ports.ts';
import { type Place, SealBroken, type SealingKey, seal, unseal } from './cipher.ts';
import type { Database } from './database.ts';
import { createDeviceStore } from './devices.ts';
import { Keyring } from './keyring.ts';
import { createKeyStore } from './keys.ts';
import { obtainMasterKey } from './master-key.ts';
import { migrations } from './migrations.ts';
import { createMqttSessionStore } from './mqtt-sessions.ts';
import { createNotificationStore } from './notifications.ts';
import { createOwnerStore } from './owners.ts';
import { createPushTargetStore } from './push-targets.ts';
import { createSecretStore } from './secrets.ts';
import { createSqliteDatabase } from './sqlite/database.ts';

export interface StoreOptions {
  dataDir: string;
  masterKey: KeyObject | null;
}

export const databaseFileName = 'tocsin.db';
export const masterKeyFileName = 'master.key';

/** Sealed with the master key when the database is made: whoever opens it later proves to have the same key. */
const proofName = 'master_key_proof';
const proofPlace: Place = { table: 'meta', ownerId: '', rowId: proofName, column: 'value' };

/** With `existing` a folder without a database is a mistake, most often made by standing in the wrong folder. */
export async function openStore({ dataDir, masterKey }: StoreOptions, mode: 'create' | 'existing'): Promise<Store> {
  const file = join(dataDir, databaseFileName);
  if (mode === 'create') createFolder(dataDir);
  else if (!existsSync(file)) {
    throw new Problem(
      `There is no Tocsin data in ${dataDir}. Run this where the server runs, or set TOCSIN_DATA_DIR; ` +
        "'tocsin serve' starts a new store.",
    );
  }
  const database = createSqliteDatabase(file);
  try {
    await database.migrate(migrations(database.build, 'sqlite'));
    const master = await proveMasterKey(database, (mayCreate) =>
      obtainMasterKey(masterKey, join(dataDir, masterKeyFileName), mayCreate),
    );
    const store = assemble(database, new Keyring(database, master));
    // A database that cannot be written is found out now, not with the first notification.
    if (mode === 'create') await store.check();
    return store;
  } catch (error) {
    await database.close();
    if (error instanceof StoreUnavailable) {
      throw new Problem(
        `The database ${file} cannot be opened: ${error.message}. If it is damaged, restore it from a backup; ` +
          'if another program holds it, end that program.',
      );
    }
    throw error;
  }
}

function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Problem(`The data directory ${folder} cannot be created: ${(error as Error).message}`);
  }
}

async function proveMasterKey(database: Database, obtain: (mayCreate: boolean) => SealingKey): Promise<SealingKey> {
  const { build } = database;
  const readProof = build.selectFrom('meta').select('value').where('name', '=', proofName).compile();
  const [before] = await database.read(readProof);
  const master = obtain(before === undefined);
  if (before === undefined) {
    const value = seal(master, proofPlace, proofName);
    const insert = build.insertInto('meta').values({ name: proofName, value });
    await database.write([insert.onConflict((conflict) => conflict.doNothing()).compile()]);
  }
  // Read again: another process that starts at the same moment may have been first.
  const [proof] = await database.read(readProof);
  try {
    unseal(master, proofPlace, proof?.value ?? new Uint8Array());
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    throw new Problem(
      'The master key is not the one this database was sealed with. Check TOCSIN_MASTER_KEY (or its _FILE), ' +
        `or the ${masterKeyFileName} in the data directory.`,
    );
  }
  return master;
}

function assemble(database: Database, keyring: Keyring): Store {
  const pushTargets = createPushTargetStore(database, keyring);
  const store: Store = {
    ...createOwnerStore(database, keyring, pushTargets),
    ...createKeyStore(database, keyring),
    ...createDeviceStore(database, keyring),
    ...createNotificationStore(database, keyring),
    ...pushTargets,
    ...createMqttSessionStore(database),
    ...createSecretStore(database, keyring),
    check: async () => {
      // A write that changes nothing a cache would notice, and a read of what was written.
      await database.write([database.build.updateTable('changes').set({ id: 1 }).where('id', '=', 1).compile()]);
      await database.read(database.build.selectFrom('changes').select('generation').compile());
    },
    verify: () => verify(database, store),
    close: () => database.close(),
  };
  return store;
}

async function verify(database: Database, store: Store): Promise<string[]> {
  const problems = await database.verify();
  const attempt = async <T>(what: string, read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      problems.push(`${what}: ${(error as Error).message}`);
      return undefined;
    }
  };
  for (const { id } of await database.read(database.build.selectFrom('owners').select('id').compile())) {
    await attempt(`owner ${id}`, () => store.findOwner(id));
    await attempt(`keys of ${id}`, () => store.listKeys(id));
    await attempt(`devices of ${id}`, () => store.listDevices(id));
    let before: string | undefined;
    do {
      const from = before;
      const page = await attempt(`notifications of ${id}`, () =>
        store.listNotifications(id, { limit: 500, ...(from !== undefined && { before: from }) }),
      );
      problems.push(...(page?.damaged ?? []).map((row) => `notification ${row} of ${id} does not open`));
      before = page?.next;
    } while (before !== undefined);
  }
  return problems;
}
