// PostgreSQL as a backend of the store, for one or several nodes.
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import type { PoolClient, QueryConfig, QueryResult as ServerResult } from 'pg';
import type { Database, OnBatch, QueryResult } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { appendRows } from './append.ts';
import { AppendQueue, type Commit, maxInFlight } from './append-queue.ts';
import { BrokerClaim } from './broker-claim.ts';
import { ChangeListener } from './change-listener.ts';
import { Connections, clientConfig, deadlineMs } from './connections.ts';
import { migrate } from './migrate.ts';
import { examineServer } from './open.ts';
import { verify } from './verify.ts';

/** The part of the deadline that a notification may wait in the queue. */
const appendWaitMs = 4000;
/** Connections for everything else, so that there are 10 in all. */
const otherConnections = 10 - maxInFlight;
/** Maximum number of prepared statements per connection. */
const maxNames = 256;

const build = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

const advice =
  'The user in TOCSIN_DATABASE_URL must own the database, or have the privilege to create tables in its schema.';

/** Rejects with a Problem if the database cannot be used. */
export async function openPostgresDatabase(
  url: string,
  mode: 'create' | 'existing',
  onBatch?: OnBatch,
): Promise<Database> {
  const config = clientConfig(url);
  const name = await examineServer(config, mode);
  const connections = new Connections(config, { size: otherConnections });
  // The server would plan the statement again for most batches, which takes longer than running it: its estimates of plans
  // for unknown arrays are too high.
  const appending = new Connections(config, { size: maxInFlight, usesGenericPlans: true });
  const statements = new StatementNames();
  const run = (client: PoolClient, query: CompiledQuery): Promise<ServerResult<Record<string, unknown>>> =>
    client.query(statements.toConfig(query));

  const commit: Commit = (rows, deadlineAt) => appending.use((client) => appendRows(client, rows), deadlineAt);
  const queue = new AppendQueue(commit, { wholeMs: deadlineMs, waitingMs: appendWaitMs }, onBatch);
  const listeners: (() => void)[] = [];
  let changes: ChangeListener | null = null;
  let brokerClaim: BrokerClaim | null = null;

  return {
    dialect: 'postgres',
    name,
    build,
    read: async <Row>(query: CompiledQuery<Row>) =>
      (await connections.use((client) => run(client, query))).rows as Row[],
    write: async (queries) => {
      const results = await connections.use((client) => runAll(client, queries, run));
      return results.map(({ rows, rowCount }): QueryResult<unknown> => ({ rows, changes: rowCount ?? 0 }));
    },
    append: (notification, key) => queue.append(notification, key),
    onChange: (listener) => {
      listeners.push(listener);
      changes ??= new ChangeListener(config, () => {
        for (const each of listeners) each();
      });
    },
    claimBroker: (onShared) => {
      brokerClaim ??= new BrokerClaim(config, onShared);
    },
    explain: () => ({ advice, isFull: false }),
    migrate: (migrations) => migrate(config, migrations),
    verify: () => connections.use(verify),
    examine: () => connections.use(verify),
    close: async () => {
      changes?.close();
      brokerClaim?.close();
      await Promise.all([connections.close(), appending.close()]);
    },
  };
}

type Run = (client: PoolClient, query: CompiledQuery) => Promise<ServerResult<Record<string, unknown>>>;

/** A single statement is its own transaction; several are pipelined after BEGIN has succeeded. */
async function runAll(client: PoolClient, queries: readonly CompiledQuery[], run: Run) {
  const [only] = queries;
  if (only !== undefined && queries.length === 1) return [await run(client, only)];
  await client.query('BEGIN');
  const running = queries.map((query) => run(client, query));
  const [results, committed] = await Promise.all([Promise.allSettled(running), client.query('COMMIT')]);
  // The first error is the cause; later statements failed because the transaction was aborted.
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  if (committed.command !== 'COMMIT') throw new Error(`the transaction ended with ${committed.command}`);
  return Promise.all(running);
}

/** Names of prepared statements, which the server parses and plans once per connection. */
class StatementNames {
  readonly #names = new Map<string, string>();

  toConfig({ sql, parameters }: CompiledQuery): QueryConfig<unknown[]> {
    let name = this.#names.get(sql);
    if (name === undefined && this.#names.size < maxNames) {
      name = `tocsin_${this.#names.size}`;
      this.#names.set(sql, name);
    }
    return { name, text: sql, values: [...parameters] };
  }
}
