// The first look at a server: whether it can be used at all, and if not, what to do about it.
import { Client, type ClientConfig, DatabaseError } from 'pg';
import { Problem } from '../../core/problem.ts';
import { toStoreError } from './errors.ts';

const minVersion = 13;

interface Server {
  version: number;
  encoding: string;
  hasSchema: boolean;
}

/** Resolves with what to call the database. */
export async function examineServer(config: ClientConfig, mode: 'create' | 'existing'): Promise<string> {
  const { version, encoding, hasSchema } = await askServer(config);
  const name = `"${config.database}" at ${config.host}:${config.port}`;
  const where = `The PostgreSQL database ${name}`;
  if (version < minVersion) {
    throw new Problem(`${where} is on version ${version}; Tocsin needs ${minVersion} or newer.`);
  }
  if (encoding !== 'UTF8') {
    throw new Problem(
      `${where} has the encoding ${encoding}; Tocsin needs UTF8. Create it anew: ` +
        `${createdb(config)} --encoding UTF8 --template template0`,
    );
  }
  if (mode === 'existing' && !hasSchema) {
    throw new Problem(
      `${where} holds no Tocsin data. Check TOCSIN_DATABASE_URL; 'tocsin serve' starts a new store there.`,
    );
  }
  return name;
}

async function askServer(config: ClientConfig): Promise<Server> {
  const client = new Client({ ...config, query_timeout: config.connectionTimeoutMillis });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<Server>(
      `SELECT current_setting('server_version_num')::int / 10000 AS version,
         current_setting('server_encoding') AS encoding, to_regclass('schema_migrations') IS NOT NULL AS "hasSchema"`,
    );
    return rows[0] as Server;
  } catch (error) {
    throw toProblem(error, config);
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
    return new Problem(
      `${server} asks for a password, and none is given: put it into TOCSIN_DATABASE_URL or PGPASSWORD.`,
    );
  }
  if (message.includes('does not support SSL')) {
    return new Problem(`${server} has no TLS, which the URL asks for: switch it on there, or leave sslmode out.`);
  }
  if (code.startsWith('28')) {
    return new Problem(
      `${server} does not let user "${user}" in: ${message}. Check user and password in TOCSIN_DATABASE_URL.`,
    );
  }
  if (code === '3D000') {
    return new Problem(`${server} has no database "${database}". Create it: ${createdb(config)}`);
  }
  if (code !== '') return new Problem(`${server} refuses: ${message} (${code}).`);
  return new Problem(
    `${server} cannot be reached: ${message}. Check that it runs and that TOCSIN_DATABASE_URL names its host and port.`,
  );
}

function createdb({ host, port, database, user }: ClientConfig): string {
  return `createdb -h ${host} -p ${port} -U ${user} ${database}`;
}
