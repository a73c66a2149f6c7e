// SQLite as a backend of the store: one writer thread, one reader thread.
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { Database, OnBatch } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { CommitQueue } from './commit-queue.ts';
import { examineFile } from './examine-file.ts';
import { adviceFor, causeOfFailure } from './open-failure.ts';
import type { Statement } from './protocol.ts';
import { ThreadClient } from './thread-client.ts';

/** Longer than the busy timeout of SQLite, shorter than the timeouts of callers. */
const deadlineMs = 5000;

/** Builds queries for SQLite; it cannot run them. */
export const build = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

export function createSqliteDatabase(file: string, onBatch?: OnBatch): Database {
  const writer = new ThreadClient({ file, role: 'writer' });
  const reader = new ThreadClient({ file, role: 'reader' });
  const queue = new CommitQueue(writer, deadlineMs, onBatch);
  return {
    dialect: 'sqlite',
    name: file,
    build,
    read: async <Row>(query: CompiledQuery<Row>) =>
      (await reader.ask({ kind: 'read', statement: toStatement(query) }, deadlineMs)).rows as Row[],
    write: (queries) => queue.write(queries.map(toStatement)),
    append: (notification, key) => queue.append(notification, key),
    // SQLite has no notifications between processes; the directory polls.
    onChange: () => undefined,
    migrate: async (migrations) => {
      const steps = migrations.map(({ name, statements }) => ({ name, statements: statements.map(toStatement) }));
      await writer.ask({ kind: 'migrate', migrations: steps });
    },
    explain: (error) => {
      const cause = causeOfFailure(file, error);
      return { advice: adviceFor(cause, file), isFull: cause === 'full' };
    },
    verify: () => reader.ask({ kind: 'verify' }),
    examine: (signal) => examineFile(file, signal),
    checkpoint: async () => {
      const deadlineAt = performance.now() + deadlineMs;
      // A check for damage, or a backup, may be reading the log.
      while (!(await writer.ask({ kind: 'truncateLog' })) && performance.now() < deadlineAt) await delay(50);
    },
    truncateLog: async () => {
      const deadlineAt = performance.now() + deadlineMs;
      while (!(await writer.ask({ kind: 'truncateLog' }))) {
        if (performance.now() > deadlineAt) {
          throw new StoreUnavailable(
            'Deleted data is still in the write-ahead log, because another process is reading it. End that process and ' +
              'restart the server to remove it',
          );
        }
        await delay(50);
      }
    },
    close: async () => {
      await reader.close();
      await writer.close();
    },
  };
}

function toStatement({ sql, parameters }: CompiledQuery): Statement {
  return { sql, parameters };
}
