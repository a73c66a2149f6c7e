// A SQLite connection with the settings that the durability guarantees require.
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { BoundedMap } from '../../core/bounded-map.ts';
import { busyTimeoutMs, primaryCode, resultCodes } from '../files/sqlite-result-codes.ts';
import type { QueryResult } from '../schema/database.ts';
import type { Failure, Statement, ThreadOptions } from './protocol.ts';

/**
 * Each thread has a cache of its own, which fills up as the database grows. Notifications are appended, so a larger one
 * makes nothing faster; the file cache of the system has the rest.
 */
const cacheKilobytes = 8192;
/** More than there are statements, so that none is prepared again and again; a prepared statement occupies as much as 100 KB. */
const maxStatements = 500;

export class Connection {
  readonly #db: DatabaseSync;
  readonly #statements = new BoundedMap<string, StatementSync>(maxStatements);
  #busyTimeoutMs = busyTimeoutMs;

  constructor({ file, role }: ThreadOptions) {
    this.#db = new DatabaseSync(file, { readOnly: role === 'reader', timeout: busyTimeoutMs });
    try {
      // Deleted owners and retired master keys: their wrapped keys must be overwritten in the file.
      if (role === 'writer') this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON');
      // FULL: a commit returns after fsync. NORMAL, the default of some drivers, may lose commits in a power failure.
      this.#db.exec(`PRAGMA synchronous = FULL;
        PRAGMA busy_timeout = ${busyTimeoutMs};
        PRAGMA wal_autocheckpoint = 4000;
        PRAGMA journal_size_limit = 67108864;
        PRAGMA cache_size = -${cacheKilobytes};`);
      this.#assertSetting('journal_mode', 'wal');
      this.#assertSetting('synchronous', 2);
      this.#assertSetting('busy_timeout', busyTimeoutMs);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  #assertSetting(name: string, wanted: string | number): void {
    const actual = Object.values(this.#db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    if (actual === wanted) return;
    // SQLite does not report the cause; most often the disk is full.
    throw Object.assign(new Error(`SQLite runs with ${name} = ${actual} instead of ${wanted}`), {
      errcode: resultCodes.ioError,
    });
  }

  get isInTransaction(): boolean {
    return this.#db.isTransaction;
  }

  setBusyTimeout(ms: number): void {
    if (ms === this.#busyTimeoutMs) return;
    this.#db.exec(`PRAGMA busy_timeout = ${ms}`);
    this.#busyTimeoutMs = ms;
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  run({ sql, parameters }: Statement): QueryResult<unknown> {
    const statement = this.prepare(sql);
    const values = parameters as SQLInputValue[];
    if (statement.columns().length > 0) return { rows: statement.all(...values), changes: 0 };
    return { rows: [], changes: Number(statement.run(...values).changes) };
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }
}

export function toFailure(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const primary = primaryCode(error);
  if (
    primary === undefined ||
    primary === resultCodes.sqlError ||
    primary === resultCodes.misuse ||
    primary === resultCodes.range
  ) {
    return { failure: 'fault', message };
  }
  return { failure: primary === resultCodes.constraint ? 'conflict' : 'unavailable', message, code: primary };
}
