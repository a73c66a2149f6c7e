// `tocsin migrate-store`, and `tocsin backup` and `restore` with PostgreSQL.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { after, before, suite, type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import {
  type CommandResult,
  type GatewayProcess,
  Installation,
  launcher,
} from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { KeyedLoad } from '@tocsin/test-support/keyed-load.ts';
import { writeOlderBackup } from '@tocsin/test-support/older-backup.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { serveExpectingFailure } from '@tocsin/test-support/refusal-to-start.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { addRows, rowsOfDatabase, rowsOfFile } from '@tocsin/test-support/store-rows.ts';

interface Copied {
  rows: Record<string, number>;
  added: number;
  changed: number;
  removed: number;
}

const obstacle = postgresObstacle();

if (obstacle !== null) {
  test('A store moves to PostgreSQL', (t) => void canRun(t, obstacle));
} else {
  let server: Postgres;
  let original: Installation;
  let originalKey: string;
  before(async () => {
    // Other tests cover power failures.
    server = await Postgres.start(['fsync = off']);
    original = await Installation.create();
    const gateway = await original.serve();
    originalKey = gateway.key;
    await gateway.stop();
  });
  after(async () => {
    await original.remove();
    await server.stop();
  });

  /** An installation of which a server made the store and was stopped. */
  const installCopy = async (t: TestContext): Promise<Installation> => {
    const installation = await install(t);
    cpSync(original.dataDir, installation.dataDir, { recursive: true });
    return installation;
  };

  /** 0 also if the table does not exist yet. */
  const countNotifications = async (url: string): Promise<number> => {
    const [table] = await server.query<{ isThere: boolean }>(
      url,
      `SELECT to_regclass('notifications') IS NOT NULL AS "isThere"`,
    );
    if (!table?.isThere) return 0;
    const [row] = await server.query<{ count: number }>(url, 'SELECT count(*)::int AS count FROM notifications');
    return row?.count ?? 0;
  };

  suite('migrate-store', () => {
    test('copies under load, and a second pass copies what was written meanwhile', {
      timeout: 120_000,
    }, async (t) => {
      const { installation, gateway, key } = await start(t);
      const url = await server.createDatabase();
      const load = new KeyedLoad(gateway, 8);
      await eventually(
        'the load is running',
        30_000,
        () => load.acknowledged.length,
        (count) => count > 200,
      );
      const acknowledged = load.acknowledged.length;
      const first = await migrate(installation, url);
      await load.end();
      assert.deepEqual(load.refused, []);
      assert.ok((first.rows.notifications ?? 0) >= acknowledged);
      assert.ok((first.rows.notifications ?? 0) < load.acknowledged.length, 'the load continued meanwhile');
      await gateway.stop();
      const second = await migrate(installation, url);
      assert.equal(second.rows.notifications, load.acknowledged.length);
      assert.ok(second.added > 0);
      assert.deepEqual(await rowsOfDatabase(server, url), rowsOfFile(databaseOf(installation)));
      const { added, changed, removed } = await migrate(installation, url);
      assert.deepEqual({ added, changed, removed }, { added: 0, changed: 0, removed: 0 });

      const moved = await installation.serve({ TOCSIN_DATABASE_URL: url });
      const [one] = load.acknowledged;
      assert.ok(one);
      const again = await notify({ api: moved.api, key }, { title: one.title }, { 'Idempotency-Key': one.title });
      assert.equal(again.body.id, one.id, 'a request from before the move is recognized');
      assert.equal((await notify({ api: moved.api, key }, { title: 'after the move' })).body.stored, true);
    });

    test('copies changes and deletions, also where one row replaced another', async (t) => {
      const { installation, gateway } = await start(t);
      const url = await server.createDatabase();
      const value = 'svc_thatIsImportedTwiceOver';
      const { id: keyId } = await installation.json('key', 'create', '--value', value);
      const { id: deviceId } = await installation.json('device', 'create', '--name', 'Phone');
      await notify(gateway, { title: 'first' });
      await gateway.stop();
      await migrate(installation, url);
      await installation.json('device', 'delete', deviceId as string);
      await installation.json('owner', 'create', '--name', 'Another');
      const db = new DatabaseSync(databaseOf(installation));
      // The same value under a new id: the digest is unique.
      db.prepare('UPDATE api_keys SET id = ? WHERE id = ?').run('key_0', keyId as string);
      db.exec('DELETE FROM notifications');
      db.close();
      const { added, removed } = await migrate(installation, url);
      assert.ok(added >= 2 && removed >= 3, `${added} added, ${removed} removed`);
      assert.deepEqual(await rowsOfDatabase(server, url), rowsOfFile(databaseOf(installation)));
    });

    const interruptions: Record<string, (copy: ChildProcess, url: string) => unknown> = {
      killed: (copy) => copy.kill('SIGKILL'),
      'disconnected by the server': (_, url) =>
        server.query(
          url,
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tocsin-copy'",
        ),
    };
    for (const [how, interrupt] of Object.entries(interruptions)) {
      test(`that is ${how} leaves a database that refuses to serve until the copy is repeated`, async (t) => {
        const installation = await installCopy(t);
        addRows(databaseOf(installation), 50_000);
        const url = await server.createDatabase();
        const copy = spawn(process.execPath, [launcher, 'migrate-store', '--to', url], {
          env: { PATH: process.env.PATH, ...installation.environment },
          stdio: ['ignore', 'ignore', 'pipe'],
        });
        const ended = Promise.all([text(copy.stderr), once(copy, 'exit')]);
        await eventually('some rows have been copied', 30_000, () => countNotifications(url), Boolean);
        await interrupt(copy, url);
        const [stderr, [exitCode]] = await ended;
        assert.notEqual(exitCode, 0, 'it was interrupted half-way');
        if (exitCode !== null) assert.match(stderr, /^The copy was interrupted; run this again: /);
        assert.doesNotMatch(stderr, /\n {4}at /);
        const refused = await serveExpectingFailure(installation, { TOCSIN_DATABASE_URL: url });
        assert.equal(refused.exitCode, 1);
        assert.match(refused.stderr, /was not finished/);
        await migrate(installation, url);
        assert.deepEqual(await rowsOfDatabase(server, url), rowsOfFile(databaseOf(installation)));
      });
    }

    test('never overwrites data that a server accepted after the move, nor the data of another installation', async (t) => {
      const installation = await installCopy(t);
      const url = await server.createDatabase();
      await migrate(installation, url);
      const moved = await installation.serve({ TOCSIN_DATABASE_URL: url });
      const meanwhile = await runMigrate(installation, url);
      assert.match(meanwhile.stderr, /Stop all of them/);
      await notify({ api: moved.api, key: originalKey }, { title: 'after the move' });
      await moved.stop();
      const rows = await rowsOfDatabase(server, url);
      const afterwards = await runMigrate(installation, url);
      assert.match(afterwards.stderr, /a server or a command may have changed/);
      const { installation: stranger, gateway: other } = await start(t);
      await other.stop();
      for (const more of [[], ['--replace']]) {
        const foreign = await runMigrate(stranger, url, ...more);
        assert.match(foreign.stderr, /data of another installation.*before a rotation/s);
      }
      assert.deepEqual(await rowsOfDatabase(server, url), rows);
    });

    test('never overwrites data that a command wrote into the copy', async (t) => {
      const installation = await installCopy(t);
      const url = await server.createDatabase();
      await migrate(installation, url);
      const made = await installation.run(['key', 'create', '--json'], { TOCSIN_DATABASE_URL: url });
      assert.equal(made.exitCode, 0, made.stderr);
      const rows = await rowsOfDatabase(server, url);
      const { stderr } = await runMigrate(installation, url);
      assert.match(stderr, /a command may have changed/);
      assert.deepEqual(await rowsOfDatabase(server, url), rows);
      await installation.json('migrate-store', '--to', url, '--replace');
      assert.deepEqual(await rowsOfDatabase(server, url), rowsOfFile(databaseOf(installation)));
    });

    test('can be repeated after a rotation of the master key', async (t) => {
      const installation = await installCopy(t);
      const url = await server.createDatabase();
      await migrate(installation, url);
      await installation.json('master-key', 'rotate');
      assert.ok((await migrate(installation, url)).changed > 0);
      assert.deepEqual(await rowsOfDatabase(server, url), rowsOfFile(databaseOf(installation)));
      const doctor = await installation.run(['doctor', '--deep'], { TOCSIN_DATABASE_URL: url });
      assert.match(doctor.stdout, /every row can be decrypted/);
    });

    test('reports what is wrong with a database, and never the password', async (t) => {
      const installation = await installCopy(t);
      const password = 'the-secret-of-the-database';
      const wrong = server.urlOf('postgres', password);
      const urls = [
        wrong,
        wrong.replace(String(server.port), '1'),
        `mysql://u:${password}@h/d`,
        `postgres//:${password}`,
      ];
      for (const url of urls) {
        const { exitCode, stdout, stderr } = await installation.run(['migrate-store', '--to', url]);
        assert.notEqual(exitCode, 0);
        assert.ok(!stdout.includes(password) && !stderr.includes(password), stderr);
        assert.doesNotMatch(stderr, /\n {4}at /, stderr);
      }
      const url = await server.createDatabase();
      const on = await installation.run(['migrate-store', '--to', url], { TOCSIN_DATABASE_URL: url });
      assert.match(on.stderr, /already uses PostgreSQL/);
    });
  });

  suite('A backup of a PostgreSQL store', () => {
    test('under load is consistent, and can be restored into a file and into another database', {
      timeout: 120_000,
    }, async (t) => {
      const url = await server.createDatabase();
      const installation = await install(t, { TOCSIN_DATABASE_URL: url });
      const gateway = await installation.serve();
      const { key } = gateway;
      const load = new KeyedLoad(gateway, 8);
      await eventually(
        'the load is running',
        30_000,
        () => load.acknowledged.length,
        (count) => count > 200,
      );
      const acknowledged = [...load.acknowledged];
      const file = join(installation.dataDir, 'backup');
      const { rows } = await installation.json<{ rows: Record<string, number> }>('backup', file);
      await load.end();
      assert.deepEqual(load.refused, []);
      assert.ok((rows.notifications ?? 0) < load.acknowledged.length, 'the load continued meanwhile');
      const backup = rowsOfFile(file);
      const lost = acknowledged.filter(({ id }) => !backup.notifications?.some((row) => row.includes(id)));
      assert.deepEqual(lost, [], 'acknowledged before the backup began, yet not in it');
      assert.equal(backup.idempotency?.length, backup.notifications?.length, 'no partial notification');
      assert.equal(backup.dispatches?.length, backup.notifications?.length, 'no partial notification');

      const another = await server.createDatabase();
      const inDatabase = await withKeyOf(t, installation, { TOCSIN_DATABASE_URL: another });
      await inDatabase.json('restore', file);
      assert.deepEqual(await rowsOfDatabase(server, another), backup);
      const inFile = await withKeyOf(t, installation, {});
      await inFile.json('restore', file);
      assert.deepEqual(rowsOfFile(databaseOf(inFile)), backup);
      for (const restored of [inDatabase, inFile]) {
        const { api } = await restored.serve();
        assert.equal((await notify({ api, key }, { title: 'after the restore' })).body.stored, true);
      }
      const again = await inDatabase.run(['restore', file]);
      assert.equal(again.exitCode, 1);
      assert.match(again.stderr, /Stop all of them/);
    });

    test('can be restored from an older version of an embedded store', async (t) => {
      const { installation, gateway, key } = await start(t);
      await notify(gateway, { title: 'from long ago' });
      await gateway.stop();
      const file = join(installation.dataDir, 'backup');
      await writeOlderBackup(databaseOf(installation), file);
      const url = await server.createDatabase();
      const moved = await withKeyOf(t, installation, { TOCSIN_DATABASE_URL: url });
      await moved.json('restore', file);
      const { api } = await moved.serve();
      assert.equal((await notify({ api, key }, { title: 'today' })).body.stored, true);
      const inbox = await moved.json<{ title: string }[]>('inbox', 'list');
      assert.deepEqual(
        inbox.map(({ title }) => title),
        ['today', 'from long ago'],
      );
    });

    test('overwrites data only with --replace, and with the same master key', async (t) => {
      const url = await server.createDatabase();
      const installation = await install(t, { TOCSIN_DATABASE_URL: url });
      const gateway = await installation.serve();
      const file = join(installation.dataDir, 'backup');
      await installation.json('backup', file);
      await notify(gateway, { title: 'after the backup' });
      await gateway.stop();
      const refused = await installation.run(['restore', file]);
      assert.match(refused.stderr, /already contains data/);
      assert.equal((await rowsOfDatabase(server, url)).notifications?.length, 1);
      await installation.json('restore', file, '--replace');
      assert.deepEqual(await rowsOfDatabase(server, url), rowsOfFile(file));
      const { stdout } = await installation.run(['inbox', 'list']);
      assert.match(stdout, /No notifications yet/);
    });
  });
}

async function start(t: TestContext): Promise<{ installation: Installation; gateway: GatewayProcess; key: string }> {
  const installation = await install(t, {});
  const gateway = await installation.serve();
  return { installation, gateway, key: gateway.key };
}

async function withKeyOf(t: TestContext, original: Installation, environment: Record<string, string>) {
  const installation = await install(t, environment);
  copyFileSync(join(original.dataDir, 'master.key'), join(installation.dataDir, 'master.key'));
  return installation;
}

function migrate(installation: Installation, url: string): Promise<Copied> {
  return installation.json<Copied>('migrate-store', '--to', url);
}

/** Expects the command to refuse. */
async function runMigrate(installation: Installation, url: string, ...more: string[]): Promise<CommandResult> {
  const result = await installation.run(['migrate-store', '--to', url, ...more]);
  assert.equal(result.exitCode, 1, result.stdout);
  return result;
}

function databaseOf({ dataDir }: Installation): string {
  return join(dataDir, 'tocsin.db');
}
