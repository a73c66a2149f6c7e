// SQLite as a backend of the store: one thread that writes, one that reads.
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Database } from '../database.ts';
import type { Tables } from '../tables.ts';
import { CommitQueue } from './commit-queue.ts';
import type { Statement } from './protocol.ts';
import { ThreadClient } from './thread-client.ts';

/** Longer than SQLite waits for a lock, shorter than a caller's patience. */
const deadlineMs = 5000;

const build = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

export function createSqliteDatabase(file: string): Database {
  const writer = new ThreadClient({ file, role: 'writer' });
  const reader = new ThreadClient({ file, role: 'reader' });
  const queue = new CommitQueue(writer, deadlineMs);
  return {
    build,
    read: async <Row>(query: CompiledQuery<Row>) =>
      (await reader.ask({ kind: 'read', statement: toStatement(query) }, deadlineMs)).rows as Row[],
    write: (queries) => queue.write(queries.map(toStatement)),
    append: (notification, key) => queue.append(notification, key),
    migrate: async (migrations) => {
      const steps = migrations.map(({ name, statements }) => ({ name, statements: statements.map(toStatement) }));
      await writer.ask({ kind: 'migrate', migrations: steps });
    },
    verify: () => reader.ask({ kind: 'verify' }),
    close: async () => {
      await reader.close();
      await writer.close();
    },
  };
}

function toStatement({ sql, parameters }: CompiledQuery): Statement {
  return { sql, parameters };
}
