// PostgreSQL servers that cannot be used, or not by several nodes, are refused or reported with the cause.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { install } from '@tocsin/test-support/install.ts';
import { findFreePort } from '@tocsin/test-support/mosquitto.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { serveExpectingFailure } from '@tocsin/test-support/refusal-to-start.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun, type Obstacle } from '@tocsin/test-support/requires.ts';

const obstacle = postgresObstacle();
const pgbouncer = '/usr/sbin/pgbouncer';

function pgbouncerObstacle(): Obstacle {
  return obstacle ?? (existsSync(pgbouncer) ? null : `there is no ${pgbouncer}: apt-get install pgbouncer`);
}

suite('PostgreSQL', () => {
  let server: Postgres;
  before(async () => {
    if (obstacle === null) server = await Postgres.start();
  });
  after(() => server?.stop());

  /** Starts a PgBouncer in front of the server; returns the URL of the same database through it. */
  async function pool(t: TestContext, mode: 'transaction' | 'session', databaseUrl: string): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'tocsin-test-'));
    const port = await findFreePort();
    const { username, password, pathname } = new URL(databaseUrl);
    writeFileSync(join(folder, 'users'), `"${username}" "${password}"\n`, { mode: 0o644 });
    const settings = [
      '[databases]',
      `* = host=127.0.0.1 port=${server.port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = scram-sha-256',
      `auth_file = ${join(folder, 'users')}`,
      `pool_mode = ${mode}`,
      'default_pool_size = 30',
      // Parameters that pg sends at the start of every connection.
      'ignore_startup_parameters = options',
    ];
    writeFileSync(join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`, { mode: 0o644 });
    const isRoot = process.getuid?.() === 0;
    // PgBouncer refuses to run as root.
    const as = isRoot ? ['--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
    const { chmodSync } = await import('node:fs');
    chmodSync(folder, 0o755);
    const child: ChildProcess = spawn(
      'setpriv',
      [...as, '--pdeathsig', 'KILL', pgbouncer, join(folder, 'pgbouncer.ini')],
      {
        stdio: 'ignore',
      },
    );
    t.after(() => {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    });
    await eventually('PgBouncer listens', 20_000, () => canConnect(port), Boolean);
    return `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`;
  }

  test('PgBouncer in transaction mode is refused by the server, by commands and by doctor, before anything is stored', async (t) => {
    if (!canRun(t, pgbouncerObstacle())) return;
    const databaseUrl = await server.createDatabase();
    const url = await pool(t, 'transaction', databaseUrl);
    const installation = await install(t, { TOCSIN_DATABASE_URL: url });
    for (let start = 0; start < 3; start += 1) {
      const { exitCode, stdout, stderr } = await serveExpectingFailure(installation);
      assert.equal(exitCode, 1, stdout);
      assert.match(
        stderr,
        /is behind a pooler .*pool_mode = transaction.*set pool_mode = session, or connect to PostgreSQL/s,
      );
      assert.doesNotMatch(stderr, /\n {4}at /);
    }
    // An existing schema, so that commands get far enough.
    const direct = await install(t, { TOCSIN_DATABASE_URL: databaseUrl });
    await direct.json('owner', 'create', '--name', 'Ann');
    for (const args of [['owner', 'list'], ['doctor']]) {
      const { exitCode, stdout, stderr } = await direct.run(args, { TOCSIN_DATABASE_URL: url });
      assert.equal(exitCode, 1);
      assert.match(stdout + stderr, /pool_mode = session/);
    }
  });

  test('PgBouncer in session mode works', async (t) => {
    if (!canRun(t, pgbouncerObstacle())) return;
    const url = await pool(t, 'session', await server.createDatabase());
    const installation = await install(t, { TOCSIN_DATABASE_URL: url });
    const gateway = await installation.serve();
    assert.equal((await notify(gateway, { title: 'x' })).body.stored, true);
    assert.equal(await gateway.stop(), 0);
  });

  test('Two nodes with embedded brokers on one database are reported, until one of them stops', async (t) => {
    if (!canRun(t, obstacle)) return;
    const installation = await install(t, { TOCSIN_DATABASE_URL: await server.createDatabase() });
    const first = await installation.serve();
    const second = await installation.serve();
    const warning = /another node on this database also runs an embedded broker.*Set TOCSIN_MQTT_URL/;
    await eventually(
      'the second node reports it',
      20_000,
      () => second.log,
      (log) => warning.test(log),
    );
    assert.doesNotMatch(first.log, warning);
    await first.stop();
    await eventually(
      'the log reports that it is over',
      20_000,
      () => second.log,
      (log) => /no other node .* any longer/.test(log),
    );
    assert.equal(await second.stop(), 0);
  });

  // Runs last: from here on the server accepts no writes.
  test('A standby is reported as a standby, and can be backed up', async (t) => {
    if (!canRun(t, obstacle)) return;
    const installation = await install(t, { TOCSIN_DATABASE_URL: await server.createDatabase() });
    const gateway = await installation.serve();
    await gateway.stop();
    await server.becomeStandby();
    for (const result of [await serveExpectingFailure(installation), await installation.run(['doctor'])]) {
      assert.equal(result.exitCode, 1);
      assert.match(
        result.stdout + result.stderr,
        /is a standby, which is read-only\. Set TOCSIN_DATABASE_URL to the primary/,
      );
    }
    await installation.json('backup', join(installation.dataDir, 'backup.db'));
  });
});

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
