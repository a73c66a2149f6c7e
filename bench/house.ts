// What stands around the gateways under test: a folder of their own, the database, a broker.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Installation } from '@tocsin/test-support/gateway-process.ts';
import { Mosquitto, type MosquittoOptions } from '@tocsin/test-support/mosquitto.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { databaseFileName } from '../packages/gateway/src/store/files/data-folder.ts';
import { adopt } from './clean-up.ts';
import type { Options } from './options.ts';

/** What initdb gives; the tests make do with less. Everything else is as it comes, fsync on. */
const serverDefaults = ['shared_buffers = 128MB'];

export interface House {
  installation: Installation;
  store: StoreUnderTest;
}

export interface StoreUnderTest {
  databaseUrl: string | null;
  /** What it takes on disk, without the log that is written ahead. */
  bytes(): Promise<number>;
  /** Everything written ahead so far, in bytes; null where that cannot be told. */
  writtenAhead(): Promise<number | null>;
  /** Does now what a large fill leaves to be done later, beside the requests. */
  rest(): Promise<void>;
}

export async function openHouse(
  { store: kind, workers }: Options,
  environment: Record<string, string> = {},
): Promise<House> {
  const server = kind === 'postgres' ? await startPostgres() : null;
  const databaseUrl = server === null ? null : await server.createDatabase();
  const installation = await adopt(
    () =>
      Installation.create({
        ...(databaseUrl !== null && { TOCSIN_DATABASE_URL: databaseUrl }),
        TOCSIN_WORKERS: String(workers),
        // One owner gets everything here.
        TOCSIN_QUOTA_ROWS_PER_DAY: '0',
        TOCSIN_QUOTA_BYTES_PER_DAY: '0',
        ...environment,
      }),
    (each) => each.remove(),
  );
  return {
    installation,
    store: server === null || databaseUrl === null ? sqliteIn(installation.dataDir) : postgresAt(server, databaseUrl),
  };
}

export function startBroker(options?: MosquittoOptions): Promise<Mosquitto> {
  return adopt(
    () => Mosquitto.start(options),
    (broker) => broker.stop(),
  );
}

async function startPostgres(): Promise<Postgres> {
  const obstacle = postgresObstacle();
  if (obstacle !== null) throw new Error(`PostgreSQL cannot be started: ${obstacle}. apt-get install postgresql`);
  return adopt(
    () => Postgres.start(serverDefaults),
    (server) => server.stop(),
  );
}

function sqliteIn(dataDir: string): StoreUnderTest {
  const file = join(dataDir, databaseFileName);
  return {
    databaseUrl: null,
    bytes: async () => (await stat(file)).size,
    writtenAhead: async () => null,
    rest: async () => {
      using database = new DatabaseSync(file);
      database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    },
  };
}

function postgresAt(server: Postgres, url: string): StoreUnderTest {
  const ask = async (expression: string): Promise<number> => {
    const [row] = await server.query<{ answer: string }>(url, `SELECT (${expression})::text AS answer`);
    return Number(row?.answer);
  };
  return {
    databaseUrl: url,
    bytes: () => ask('pg_database_size(current_database())'),
    writtenAhead: () => ask("pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
    rest: async () => {
      await server.query(url, 'VACUUM ANALYZE notifications');
      await server.query(url, 'CHECKPOINT');
    },
  };
}
