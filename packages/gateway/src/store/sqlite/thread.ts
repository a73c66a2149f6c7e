// Runs in a worker thread, so that a slow disk or a long fsync never blocks the event loop.
import { parentPort, workerData } from 'node:worker_threads';
import { busyTimeoutMs, isContention } from '../files/sqlite-result-codes.ts';
import type { QueryResult } from '../schema/database.ts';
import { encrypt } from '../vault/cipher.ts';
import { applyMigrations, type MigrationSteps } from './apply-migrations.ts';
import { Connection, toFailure } from './connection.ts';
import { canReadImmutable, readImmutable } from './immutable-read.ts';
import type {
  CommitReply,
  Envelope,
  Failure,
  NamedKey,
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
const keys = new Map<string, NamedKey>();
/** Never notified, so that Atomics.wait on it is a synchronous sleep. */
const sleeper = new Int32Array(new SharedArrayBuffer(4));

port.on('message', ({ id, ...request }: Envelope<Request>) => port.postMessage({ id, ...reply(request as Request) }));

function reply(request: Request): Reply {
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
      return read(request.statement);
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
    case 'truncateLog':
      return truncateLog();
    case 'close':
      connection?.close();
      connection = null;
      return null;
  }
}

function read(statement: Statement): QueryResult<unknown> {
  try {
    return open().run(statement);
  } catch (error) {
    if (connection !== null || !canReadImmutable(options.file, error)) throw error;
    return readImmutable(options.file, statement);
  }
}

function open(): Connection {
  connection ??= new Connection(options);
  return connection;
}

/** After an I/O error or worse the next request uses a new connection. */
function forgetBrokenConnection(error: unknown): void {
  if (connection === null || isContention(error) || toFailure(error).failure !== 'unavailable') return;
  try {
    connection.close();
  } finally {
    connection = null;
    waitMs = busyTimeoutMs;
  }
}

type Commit = Request & { kind: 'commit' };

function commit(request: Commit): CommitReply {
  waitMs = request.waitMs;
  if (request.isNewKeySet) keys.clear();
  for (const each of request.keys) keys.set(each.name, each);
  return inTransaction(() => ({ ...append(request.rows), jobs: request.jobs.map(runJob) }));
}

const insertNotification = `INSERT INTO notifications (owner_id, id, created_at, sealed)
  SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM owners WHERE id = ?1)`;
const insertOriginal = 'INSERT INTO originals (owner_id, notification_id, sealed) VALUES (?, ?, ?)';
const insertDispatch = `INSERT INTO dispatches (owner_id, notification_id, targets, results, lease_until)
  VALUES (?, ?, ?, ?, ?)`;
/** They insert nothing if another process has deleted the device or the session. */
const queueForDevice = `INSERT INTO mqtt_waiting (owner_id, device_id, client_id, notification_id, qos, state)
  SELECT owner_id, id, '', ?3, ?4, 'publish' FROM devices WHERE owner_id = ?1 AND id = ?2`;
const queueForSession = `INSERT INTO mqtt_waiting (owner_id, device_id, client_id, notification_id, qos, state)
  SELECT owner_id, device_id, client_id, ?3, ?4, 'publish' FROM mqtt_sessions
  WHERE owner_id = ?1 AND device_id = ?2 AND client_id = ?5`;
/** Claims the key if it is free or expired. */
const claimIdempotencyKey = `INSERT INTO idempotency
    (owner_id, key_digest, fingerprint, notification_id, lease_until, expires_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT (owner_id, key_digest) DO UPDATE SET
    fingerprint = ?3, notification_id = ?4, lease_until = ?5, expires_at = ?6, sealed = NULL
    WHERE expires_at <= ?7`;

const freeIdempotencyKey = 'DELETE FROM idempotency WHERE owner_id = ? AND key_digest = ?';

/** Inserts the rows, except those whose owner was deleted or whose idempotency key is in use. */
function append(rows: RowToAppend[]): Omit<CommitReply, 'jobs'> {
  const db = open();
  const refusedRows: number[] = [];
  const duplicateRows: number[] = [];
  const notQueued: CommitReply['notQueued'] = [];
  for (const [index, row] of rows.entries()) {
    const { ownerId, id, createdAt, dispatch, leaseUntil, idempotency, resultsIfQueued } = row;
    if (idempotency !== null) {
      const { keyDigest, fingerprint, expiresAt } = idempotency;
      const values = [ownerId, keyDigest, fingerprint, id, leaseUntil, expiresAt, createdAt];
      if (db.prepare(claimIdempotencyKey).run(...values).changes !== 1) {
        duplicateRows.push(index);
        continue;
      }
    }
    const sealed = encryptRow(row, 'notifications', row.content);
    if (db.prepare(insertNotification).run(ownerId, id, createdAt, sealed).changes !== 1) {
      refusedRows.push(index);
      if (idempotency !== null) db.prepare(freeIdempotencyKey).run(ownerId, idempotency.keyDigest);
      continue;
    }
    if (row.original !== null) db.prepare(insertOriginal).run(ownerId, id, encryptRow(row, 'originals', row.original));
    const messages = queueMessages(db, row);
    if (messages.length > 0) notQueued.push({ row: index, messages });
    if (dispatch === null) continue;
    const isSettled = resultsIfQueued !== null && messages.length === 0;
    const state = isSettled ? [resultsIfQueued, null] : [null, leaseUntil];
    db.prepare(insertDispatch).run(ownerId, id, dispatch, ...state);
  }
  return { refusedRows, duplicateRows, notQueued };
}

/** Returns the indexes of messages that were not queued. */
function queueMessages(db: Connection, { ownerId, id, messages }: RowToAppend): number[] {
  const notQueued: number[] = [];
  for (const [index, { deviceId, clientId, qos }] of messages.entries()) {
    const { changes } =
      clientId === ''
        ? db.prepare(queueForDevice).run(ownerId, deviceId, id, qos)
        : db.prepare(queueForSession).run(ownerId, deviceId, id, qos, clientId);
    if (changes !== 1) notQueued.push(index);
  }
  return notQueued;
}

function encryptRow(
  { ownerId, id, keyName }: RowToAppend,
  table: 'notifications' | 'originals',
  plaintext: string,
): Buffer {
  const key = keys.get(keyName);
  if (key === undefined) throw new Error(`The database thread does not have the key ${keyName}.`);
  return encrypt(key, { table, ownerId, rowId: id, column: 'sealed' }, plaintext);
}

/** A job that violates a constraint is rolled back alone; the rest of the batch is committed. */
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

/** Checkpoints the log into the database, where deleted data is overwritten with zeros, and truncates it. */
function truncateLog(): boolean {
  const db = open();
  // Short, since requests wait meanwhile.
  db.setBusyTimeout(100);
  // Most of the work is done while other processes write; only the rest blocks them.
  db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
  return db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0;
}

function migrate(migrations: MigrationSteps[]): null {
  applyMigrations(open(), migrations);
  return null;
}

function inTransaction<T>(work: () => T): T {
  const db = open();
  begin(db);
  try {
    const result = work();
    db.prepare('COMMIT').run();
    return result;
  } catch (error) {
    // After some errors, such as a full disk, SQLite has rolled back already.
    if (db.isInTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Waits for other writing processes. The busy handler of SQLite waits up to 100 ms between attempts, so a process under load,
 * which pauses for less, would get the lock every time. Short random waits are fair.
 */
function begin(db: Connection): void {
  const until = performance.now() + waitMs;
  db.setBusyTimeout(0);
  for (;;) {
    try {
      db.prepare('BEGIN IMMEDIATE').run();
      return;
    } catch (error) {
      if (!isContention(error) || performance.now() >= until) throw error;
      Atomics.wait(sleeper, 0, 0, 0.2 + Math.random() * 0.8);
    }
  }
}
