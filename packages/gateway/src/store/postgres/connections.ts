// Connections to PostgreSQL: a pool, and a deadline on whatever is done with one of them.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig, Pool, type PoolClient } from 'pg';
import { Problem } from '../../core/problem.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { ConstraintViolated } from '../schema/database.ts';
import { isWorthRepeating, toStoreError } from './errors.ts';

const poolSize = 10;
/** To make a connection. */
const connectMs = 2000;
/** Whoever asks has an answer by then, whatever the server does. */
export const deadlineMs = 5000;
/** Callers that wait for a free connection; beyond it the next are told at once. */
const maxWaiting = 5000;
const closeMs = 1000;
const idleMs = 60_000;
const keepAliveMs = 10_000;

/**
 * A commit returns after it is on disk, whatever the server's default is; a stronger default, such as one that waits for
 * standbys, stays.
 */
const sessionSettings = `SELECT set_config('statement_timeout', '${deadlineMs}', false),
  set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)`;

/** Type ids of the server for bigint and numeric: times and counts, far below 2^53. */
export const numberTypes = [20, 1700];

/** Read once: a certificate file that is away for a moment while the service runs must not matter. */
export function clientConfig(url: string): ClientConfig {
  const withMode = new URL(url);
  // `sslmode` means what it means to every other PostgreSQL client.
  if (!withMode.searchParams.has('uselibpqcompat')) withMode.searchParams.set('uselibpqcompat', 'true');
  try {
    const { host, port, database, user, password, ssl } = new Client(withMode.href);
    return {
      ...{ host, port, database, user, password, ssl },
      options: withMode.searchParams.get('options') ?? undefined,
      // By this name restore and migrate-store find out that nodes are running.
      application_name: 'tocsin',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
    };
  } catch (error) {
    // The driver leaves the URL out of its messages.
    throw new Problem(`The URL of the database cannot be used: ${(error as Error).message}`);
  }
}

/** The pool has but one setting for how long to wait for it and how long to wait for the server. */
class PooledClient extends Client {
  constructor(config?: ClientConfig) {
    // The pool hides the password from whoever prints or copies its settings.
    super({ ...config, password: config?.password, connectionTimeoutMillis: connectMs });
  }
}

export class Connections {
  readonly #pool: Pool;
  readonly #clients = new Set<PoolClient>();
  readonly #prepared = new WeakMap<PoolClient, Promise<unknown>>();

  constructor(config: ClientConfig) {
    // Statements of one transaction are sent without waiting for each other's answers.
    this.#pool = new Pool({
      ...config,
      Client: PooledClient,
      connectionTimeoutMillis: deadlineMs,
      pipeline: true,
      max: poolSize,
      idleTimeoutMillis: idleMs,
    });
    // An idle connection that breaks is replaced when one is needed; who needs it then learns of what is wrong.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => this.#prepare(client));
    this.#pool.on('remove', (client) => this.#clients.delete(client));
  }

  /**
   * Runs `work`, which must not let anything go on after it is settled, and once more where the server undid it for a
   * passing reason. Rejects in time with what `toStoreError` makes of the failure.
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
    // A server that hangs does not hang the stop.
    for (const client of this.#clients) client.connection.stream.destroy();
  }

  async #attempt<T>(work: (client: PoolClient) => Promise<T>, deadlineAt: number): Promise<T> {
    if (this.#pool.ending) throw new StoreUnavailable('the store is closed');
    if (this.#pool.waitingCount >= maxWaiting) throw new StoreUnavailable('too many are waiting for the database');
    const client = await this.#acquire(deadlineAt);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      // What was sent may still be done; the answer would come to somebody else.
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

  /** One that comes too late goes back to the pool. */
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

  #prepare(client: PoolClient): void {
    this.#clients.add(client);
    // Whoever uses the connection is told through the query; an event without a listener would end the process.
    client.on('error', () => undefined);
    for (const type of numberTypes) client.setTypeParser(type, Number);
    const preparing = client.query(sessionSettings);
    preparing.catch(() => undefined);
    this.#prepared.set(client, preparing);
  }
}

function tooLate(): StoreUnavailable {
  return new StoreUnavailable(`the database did not answer within ${deadlineMs} ms`);
}
