// A connection pool for PostgreSQL, with a deadline for every operation.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig, Pool, type PoolClient } from 'pg';
import { Problem } from '../../core/problem.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { ConstraintViolated } from '../schema/database.ts';
import { isWorthRepeating, toStoreError } from './errors.ts';

/** Timeout for connecting. */
const connectMs = 2000;
/** Every operation ends within this time, regardless of the server. */
export const deadlineMs = 5000;
/** Callers waiting for a free connection; beyond it calls fail at once. */
const maxWaiting = 5000;
const closeMs = 1000;
const idleMs = 60_000;
const keepAliveMs = 10_000;

/**
 * A commit returns after it is on disk, regardless of the server's default; a stronger default, such as one that waits for
 * standbys, is kept.
 */
const sessionSettings = `SELECT set_config('statement_timeout', '${deadlineMs}', false),
  set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)`;

export interface PoolOptions {
  size: number;
  /** Plans a prepared statement once per connection, regardless of its parameters. */
  usesGenericPlans?: true;
}

/** Type ids of the server for bigint and numeric: times and counts, far below 2^53. */
export const numberTypes = [20, 1700];

/** Read once at the start, so that a certificate file that is missing later has no effect. */
export function clientConfig(url: string): ClientConfig {
  const withMode = new URL(url);
  // `sslmode` has the meaning that libpq defines.
  if (!withMode.searchParams.has('uselibpqcompat')) withMode.searchParams.set('uselibpqcompat', 'true');
  try {
    const { host, port, database, user, password, ssl } = new Client(withMode.href);
    return {
      ...{ host, port, database, user, password, ssl },
      options: withMode.searchParams.get('options') ?? undefined,
      // `restore` and `migrate-store` detect running nodes by this name.
      application_name: 'tocsin',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
    };
  } catch (error) {
    // The messages of the driver do not contain the URL.
    throw new Problem(`The URL of the database is invalid: ${(error as Error).message}`);
  }
}

/** Separates the timeout for connecting from that for a free connection, for which the pool has one setting. */
class PooledClient extends Client {
  constructor(config?: ClientConfig) {
    // The pool makes the password a non-enumerable property, which a spread does not copy.
    super({ ...config, password: config?.password, connectionTimeoutMillis: connectMs });
  }
}

export class Connections {
  readonly #pool: Pool;
  readonly #clients = new Set<PoolClient>();
  readonly #prepared = new WeakMap<PoolClient, Promise<unknown>>();

  constructor(config: ClientConfig, { size, usesGenericPlans }: PoolOptions) {
    // Pipelining: the statements of a transaction are sent without waiting for results.
    this.#pool = new Pool({
      ...config,
      Client: PooledClient,
      connectionTimeoutMillis: deadlineMs,
      pipeline: true,
      max: size,
      idleTimeoutMillis: idleMs,
    });
    // A broken idle connection is replaced when one is needed, and errors are reported then.
    this.#pool.on('error', () => undefined);
    const planning = usesGenericPlans ? ", set_config('plan_cache_mode', 'force_generic_plan', false)" : '';
    this.#pool.on('connect', (client) => this.#prepare(client, sessionSettings + planning));
    this.#pool.on('remove', (client) => this.#clients.delete(client));
  }

  /**
   * Runs `work`, which must not use the client after it has settled, and retries it once after a transient rollback.
   * Rejects within the deadline with an error of `toStoreError`.
   */
  async use<T>(work: (client: PoolClient) => Promise<T>, deadlineAt = performance.now() + deadlineMs): Promise<T> {
    try {
      return await this.#attempt(work, deadlineAt);
    } catch (error) {
      if (isWorthRepeating(error))
        return this.#attempt(work, deadlineAt).catch((again) => Promise.reject(toStoreError(again)));
      throw toStoreError(error);
    }
  }

  async close(): Promise<void> {
    if (this.#pool.ending) return;
    const ended = [...this.#clients].map((client) => once(client, 'end'));
    await Promise.race([Promise.allSettled([this.#pool.end(), ...ended]), delay(closeMs, undefined, { ref: false })]);
    // A server that hangs must not delay the shutdown.
    for (const client of this.#clients) client.connection.stream.destroy();
  }

  async #attempt<T>(work: (client: PoolClient) => Promise<T>, deadlineAt: number): Promise<T> {
    if (this.#pool.ending) throw new StoreUnavailable('the store is closed');
    if (this.#pool.waitingCount >= maxWaiting)
      throw new StoreUnavailable('too many operations are waiting for a database connection');
    const client = await this.#acquire(deadlineAt);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      // The connection cannot be reused: its result is still to come, and the statement may still be executed.
      client.connection.stream.destroy();
    }, deadlineAt - performance.now());
    try {
      const [result] = await Promise.all([work(client), this.#prepared.get(client)]);
      client.release();
      return result;
    } catch (error) {
      client.release(!(toStoreError(error) instanceof ConstraintViolated));
      throw isLate ? tooLate() : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** A connection that becomes free too late is returned to the pool. */
  #acquire(deadlineAt: number): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        reject(tooLate());
      }, deadlineAt - performance.now());
      this.#pool.connect((error, client) => {
        clearTimeout(timer);
        if (client === undefined) reject(error);
        else if (isLate) client.release();
        else resolve(client);
      });
    });
  }

  #prepare(client: PoolClient, settings: string): void {
    this.#clients.add(client);
    // The error is also reported by the query; an error event without a listener would end the process.
    client.on('error', () => undefined);
    for (const type of numberTypes) client.setTypeParser(type, Number);
    const preparing = client.query(settings);
    preparing.catch(() => undefined);
    this.#prepared.set(client, preparing);
  }
}

function tooLate(): StoreUnavailable {
  return new StoreUnavailable(`the database did not answer within ${deadlineMs} ms`);
}
