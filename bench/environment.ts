// The environment of the gateways under test: a data directory, the database, a broker.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Installation } from '@tocsin/test-support/gateway-process.ts';
import { Mosquitto, type MosquittoOptions } from '@tocsin/test-support/mosquitto.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { databaseFileName } from '../packages/gateway/src/store/files/data-directory.ts';
import { adopt } from './clean-up.ts';
import type { Options } from './options.ts';

/** The default of initdb; the tests use a smaller value. All other settings are defaults, with fsync on. */
const serverDefaults = ['shared_buffers = 128MB'];

export interface BenchEnvironment {
  installation: Installation;
  store: StoreUnderTest;
  /** Servers beside the gateway: database and broker. */
  services: Services;
}

/** Process ids by the name of the program. */
export type Services = Record<string, number>;

export interface StoreUnderTest {
  databaseUrl: string | null;
  /** Size on disk, without the write-ahead log. */
  bytes(): Promise<number>;
  /** Bytes written to the write-ahead log so far; null if unknown. */
  walBytes(): Promise<number | null>;
  /** Transactions committed so far, reads included; null if unknown. */
  transactions(): Promise<number | null>;
  /** Runs the maintenance that a large fill would otherwise cause later, during the requests. */
  maintain(): Promise<void>;
}

export async function createEnvironment(
  { store: kind, workers }: Options,
  variables: Record<string, string> = {},
  program?: string[],
): Promise<BenchEnvironment> {
  const server = kind === 'postgres' ? await startPostgres() : null;
  const databaseUrl = server === null ? null : await server.createDatabase();
  const installation = await adopt(
    () =>
      Installation.create(
        {
          ...(databaseUrl !== null && { TOCSIN_DATABASE_URL: databaseUrl }),
          TOCSIN_WORKERS: String(workers),
          // One owner receives the whole load here.
          TOCSIN_QUOTA_ROWS_PER_DAY: '0',
          TOCSIN_QUOTA_BYTES_PER_DAY: '0',
          ...variables,
        },
        program,
      ),
    (each) => each.remove(),
  );
  return {
    installation,
    services: server === null ? {} : { PostgreSQL: server.pid },
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
    walBytes: async () => null,
    transactions: async () => null,
    maintain: async () => {
      using database = new DatabaseSync(file);
      database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    },
  };
}

function postgresAt(server: Postgres, url: string): StoreUnderTest {
  const ask = async (expression: string): Promise<number> => {
    const [row] = await server.query<{ value: string }>(url, `SELECT (${expression})::text AS value`);
    return Number(row?.value);
  };
  return {
    databaseUrl: url,
    bytes: () => ask('pg_database_size(current_database())'),
    walBytes: () => ask("pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
    transactions: () => ask('SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()'),
    maintain: async () => {
      await server.query(url, 'VACUUM ANALYZE notifications');
      await server.query(url, 'CHECKPOINT');
    },
  };
}
