// An empty store on either backend, with a data directory of its own.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '../../gateway/src/store/open-store.ts';
import { openPostgresDatabase } from '../../gateway/src/store/postgres/database.ts';
import type { Database } from '../../gateway/src/store/schema/database.ts';
import { migrations } from '../../gateway/src/store/schema/migrations.ts';
import type { StoreOptions } from '../../gateway/src/store/schema/store-options.ts';
import { createSqliteDatabase } from '../../gateway/src/store/sqlite/database.ts';
import type { Store } from '../../gateway/src/usecases/ports/index.ts';
import type { Postgres } from './postgres.ts';
import { RawRows } from './raw-rows.ts';

export interface StoreFixture {
  readonly dataDir: string;
  /** The setting for a gateway that uses the same database. */
  readonly environment: Record<string, string>;
  open(options?: Partial<StoreOptions>): Promise<Store>;
  /** The database without encryption; it has to exist. */
  openDatabase(): Promise<Database>;
  openRows(): Promise<RawRows>;
  /** Changes the database directly, bypassing the store. */
  runSql(text: string): Promise<void>;
  remove(): Promise<void>;
}

export async function createSqliteFixture(): Promise<StoreFixture> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
  const file = join(dataDir, 'tocsin.db');
  return {
    dataDir,
    environment: {},
    open: (options) => openStore({ dataDir, masterKey: null, ...options }, 'create'),
    openDatabase: async () => createSqliteDatabase(file),
    openRows: async () => RawRows.ofFile(dataDir),
    runSql: async (text) => {
      const db = new DatabaseSync(file, { timeout: 2000 });
      db.exec(text);
      db.close();
    },
    remove: () => rm(dataDir, { recursive: true, force: true }),
  };
}

/** Per server, a database with all tables and no rows. Its copies are not migrated again. */
const migrated = new WeakMap<Postgres, Promise<string>>();

async function createMigrated(server: Postgres): Promise<string> {
  const url = await server.createDatabase();
  const database = await openPostgresDatabase(url, 'create');
  await database.migrate(migrations(database.build, database.dialect));
  await database.close();
  return url;
}

export async function createPostgresFixture(server: Postgres): Promise<StoreFixture> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
  const template = migrated.get(server) ?? createMigrated(server);
  migrated.set(server, template);
  const databaseUrl = await server.createDatabase(await template);
  return {
    dataDir,
    environment: { TOCSIN_DATABASE_URL: databaseUrl },
    open: (options) => openStore({ dataDir, databaseUrl, masterKey: null, ...options }, 'create'),
    openDatabase: () => openPostgresDatabase(databaseUrl, 'existing'),
    openRows: () => RawRows.ofDatabase(databaseUrl),
    runSql: async (text) => {
      await server.query(databaseUrl, text);
    },
    remove: async () => {
      await server.dropDatabase(databaseUrl);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
