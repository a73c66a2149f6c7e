// Checks whether a server can be used, and explains what to do if not.
import { randomUUID } from 'node:crypto';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import { Problem } from '../../core/problem.ts';
import { toStoreError } from './errors.ts';

const minVersion = 13;

interface Server {
  version: number;
  encoding: string;
  hasSchema: boolean;
  isStandby: boolean;
  isReadOnly: boolean;
  /** A pooler in front of the server shares a session between clients. */
  isSharedSession: boolean;
}

/** Returns the name of the database for messages. With `read`, which uses one session, it may be a standby. */
export async function examineServer(config: ClientConfig, mode: 'create' | 'existing' | 'read'): Promise<string> {
  const { version, encoding, hasSchema, ...server } = await askServer(config, mode !== 'read');
  const name = `"${config.database}" at ${config.host}:${config.port}`;
  const where = `The PostgreSQL database ${name}`;
  if (version < minVersion) {
    throw new Problem(`${where} is on version ${version}; Tocsin needs ${minVersion} or newer.`);
  }
  if (mode !== 'read') refuseUnwritable(where, server);
  if (encoding !== 'UTF8') {
    throw new Problem(
      `${where} has the encoding ${encoding}; Tocsin needs UTF8. Create it again: ` +
        `${createdb(config)} --encoding UTF8 --template template0`,
    );
  }
  if (mode !== 'create' && !hasSchema) {
    throw new Problem(
      `${where} holds no Tocsin data. Check TOCSIN_DATABASE_URL; 'tocsin serve' starts a new store there.`,
    );
  }
  return name;
}

function refuseUnwritable(where: string, server: Pick<Server, 'isStandby' | 'isReadOnly' | 'isSharedSession'>): void {
  if (server.isStandby) {
    throw new Problem(
      `${where} is a standby, which is read-only. Set TOCSIN_DATABASE_URL to the primary, or promote the standby first.`,
    );
  }
  if (server.isReadOnly) {
    throw new Problem(
      `${where} is read-only: default_transaction_read_only is on for the server, the database or the user. Turn it off.`,
    );
  }
  if (server.isSharedSession) {
    throw new Problem(
      `${where} is behind a pooler that shares sessions between clients, such as PgBouncer with pool_mode = transaction. ` +
        'Tocsin needs sessions of its own: set pool_mode = session, or connect to PostgreSQL directly.',
    );
  }
}

async function askServer(config: ClientConfig, isForWriting: boolean): Promise<Server> {
  const client = new Client({ ...config, query_timeout: config.connectionTimeoutMillis });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<Server>(
      `SELECT current_setting('server_version_num')::int / 10000 AS version,
         current_setting('server_encoding') AS encoding, to_regclass('schema_migrations') IS NOT NULL AS "hasSchema",
         pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly"`,
    );
    return { ...(rows[0] as Server), isSharedSession: isForWriting && (await isSharedSession(client, config)) };
  } catch (error) {
    throw toProblem(error, config);
  } finally {
    client.connection.stream.destroy();
  }
}

/** Whether other connections see a setting of this session, while this connection is open. */
async function isSharedSession(client: Client, config: ClientConfig): Promise<boolean> {
  const mark = randomUUID();
  await client.query("SELECT set_config('tocsin.mark', $1, false)", [mark]);
  // Two attempts, since a busy pool may assign another session.
  const marks = await Promise.all([1, 2].map(() => readMark(config)));
  return marks.includes(mark);
}

async function readMark(config: ClientConfig): Promise<string | null> {
  const client = new Client({ ...config, query_timeout: config.connectionTimeoutMillis });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ mark: string | null }>("SELECT current_setting('tocsin.mark', true) AS mark");
    return rows[0]?.mark ?? null;
  } catch {
    // A server without a free connection does not share sessions.
    return null;
  } finally {
    client.connection.stream.destroy();
  }
}

function toProblem(error: unknown, config: ClientConfig): Problem {
  const { host, port, database, user, password } = config;
  const server = `The PostgreSQL server at ${host}:${port}`;
  const { message } = toStoreError(error);
  const code = error instanceof DatabaseError ? (error.code ?? '') : '';
  if (!password && (code === '28P01' || message.includes('password must be a'))) {
    return new Problem(`${server} requires a password: set it in TOCSIN_DATABASE_URL or PGPASSWORD.`);
  }
  if (message.includes('does not support SSL')) {
    return new Problem(
      `${server} does not support TLS, which the URL requires: enable TLS on the server, or remove sslmode.`,
    );
  }
  if (code.startsWith('28')) {
    return new Problem(
      `${server} rejected user "${user}": ${message}. Check user and password in TOCSIN_DATABASE_URL.`,
    );
  }
  if (code === '3D000') {
    return new Problem(`${server} has no database "${database}". Create it: ${createdb(config)}`);
  }
  if (code !== '') return new Problem(`${server} reports: ${message} (${code}).`);
  return new Problem(
    `${server} cannot be reached: ${message}. Check that it is running and that TOCSIN_DATABASE_URL has its host and port.`,
  );
}

function createdb({ host, port, database, user }: ClientConfig): string {
  return `createdb -h ${host} -p ${port} -U ${user} ${database}`;
}
