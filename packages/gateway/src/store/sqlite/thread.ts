// Runs in a worker thread of its own: a slow disk or a long fsync stops this thread, never the event loop.
import { parentPort, workerData } from 'node:worker_threads';
import { seal } from '../cipher.ts';
import type { QueryResult } from '../database.ts';
import { busyTimeoutMs, Connection, isContention, toFailure } from './connection.ts';
import type {
  CommitReply,
  Envelope,
  Failure,
  Reply,
  Request,
  RowToAppend,
  Statement,
  ThreadOptions,
} from './protocol.ts';

const port = parentPort;
if (port === null) throw new Error('The database thread was started outside of a worker.');
const options = workerData as ThreadOptions;

let connection: Connection | null = null;
let waitMs = busyTimeoutMs;

port.on('message', ({ id, ...request }: Envelope<Request>) => port.postMessage({ id, ...answer(request as Request) }));

function answer(request: Request): Reply {
  try {
    return { value: handle(request) };
  } catch (error) {
    forgetBrokenConnection(error);
    return toFailure(error);
  }
}

function handle(request: Request): unknown {
  switch (request.kind) {
    case 'read':
      return open().run(request.statement);
    case 'commit':
      return commit(request);
    case 'migrate':
      return inTransaction(() => migrate(request.migrations));
    case 'verify':
      return open()
        .prepare('PRAGMA quick_check')
        .all()
        .map((row) => String(Object.values(row)[0]))
        .filter((line) => line !== 'ok');
    case 'close':
      connection?.close();
      connection = null;
      return null;
  }
}

function open(): Connection {
  connection ??= new Connection(options);
  return connection;
}

/** After an I/O error or worse the next request starts on a new connection. */
function forgetBrokenConnection(error: unknown): void {
  if (connection === null || isContention(error) || toFailure(error).failure !== 'unavailable') return;
  try {
    connection.close();
  } finally {
    connection = null;
    waitMs = busyTimeoutMs;
  }
}

function commit(request: Request & { kind: 'commit' }): CommitReply {
  if (request.waitMs !== waitMs) {
    open().exec(`PRAGMA busy_timeout = ${request.waitMs}`);
    waitMs = request.waitMs;
  }
  return inTransaction(() => ({
    refusedRows: append(request.rows, request.keys),
    jobs: request.jobs.map(runJob),
  }));
}

/** Inserts the rows; those whose owner was deleted a moment ago are left out and reported. */
function append(rows: RowToAppend[], keys: (Request & { kind: 'commit' })['keys']): number[] {
  const insert = open().prepare(
    `INSERT INTO notifications (owner_id, id, created_at, sealed)
     SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM owners WHERE id = ?1)`,
  );
  const refused: number[] = [];
  for (const [index, row] of rows.entries()) {
    const key = keys.get(row.keyName);
    if (key === undefined) throw new Error(`The batch came without the key ${row.keyName}.`);
    const place = { table: 'notifications', ownerId: row.ownerId, rowId: row.id, column: 'sealed' };
    const { changes } = insert.run(row.ownerId, row.id, row.createdAt, seal(key, place, row.content));
    if (changes !== 1) refused.push(index);
  }
  return refused;
}

/** A job that breaks a constraint is undone alone; the rest of the batch stands. */
function runJob(statements: Statement[]): QueryResult<unknown>[] | Failure {
  const db = open();
  db.exec('SAVEPOINT job');
  try {
    const results = statements.map((statement) => db.run(statement));
    db.exec('RELEASE job');
    return results;
  } catch (error) {
    const failure = toFailure(error);
    if (failure.failure === 'unavailable') throw error;
    db.exec('ROLLBACK TO job; RELEASE job');
    return failure;
  }
}

function migrate(migrations: { name: string; statements: Statement[] }[]): null {
  const db = open();
  db.exec('CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, applied_at integer NOT NULL)');
  const applied = new Set(
    db
      .prepare('SELECT name FROM schema_migrations')
      .all()
      .map((row) => row.name),
  );
  for (const { name, statements } of migrations) {
    if (applied.has(name)) continue;
    for (const statement of statements) db.run(statement);
    db.prepare('INSERT INTO schema_migrations (name, applied_at) VALUES (?, ?)').run(name, Date.now());
  }
  return null;
}

function inTransaction<T>(work: () => T): T {
  const db = open();
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk and some others have rolled back already.
    if (db.isInTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
