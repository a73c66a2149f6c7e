// An older version on a database that a newer one has migrated, as after a rollback.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, type TestContext, test } from 'node:test';
import type { Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';

const newerLine = 'the database is of a newer version';

interface Backend {
  installation: Installation;
  run(statements: string): Promise<void>;
  /** The database row that states which versions may use it. */
  fact(): Promise<{ version: string; newest: string; minReader: string }>;
}

let server: Postgres | null = null;
before(async () => {
  if (postgresObstacle() === null) server = await Postgres.start(['fsync = off']);
});
after(() => server?.stop());

const backends: Record<string, (t: TestContext) => Promise<Backend | null>> = {
  SQLite: async (t) => {
    const installation = await install(t);
    const withDatabase = <T>(use: (db: DatabaseSync) => T): T => {
      const db = new DatabaseSync(join(installation.dataDir, 'tocsin.db'), { timeout: 5000 });
      try {
        return use(db);
      } finally {
        db.close();
      }
    };
    return {
      installation,
      run: async (statements) => withDatabase((db) => db.exec(statements)),
      fact: async () =>
        withDatabase((db) => {
          const value = db.prepare("SELECT value FROM meta WHERE name = 'schema'").get()?.value;
          return JSON.parse(Buffer.from(value as Uint8Array).toString());
        }),
    };
  },
  PostgreSQL: async (t) => {
    if (!canRun(t, postgresObstacle()) || server === null) return null;
    const postgres = server;
    const url = await postgres.createDatabase();
    const installation = await install(t, { TOCSIN_DATABASE_URL: url });
    return {
      installation,
      run: async (statements) => {
        await postgres.query(url, statements.replaceAll("x'", "'\\x").replaceAll('blob', 'bytea'));
      },
      fact: async () => {
        const rows = await postgres.query<{ value: Buffer }>(url, "SELECT value FROM meta WHERE name = 'schema'");
        return JSON.parse(String(rows[0]?.value));
      },
    };
  },
};

/** Changes that a newer version might make: a table, a column, and a migration that this version does not know. */
const extension = `
  CREATE TABLE aliases (owner_id text NOT NULL, id text NOT NULL, rank integer, sealed blob, PRIMARY KEY (owner_id, id));
  INSERT INTO aliases VALUES ('own_1', 'a', 1, x'00ff'), ('own_1', 'b', NULL, NULL);
  ALTER TABLE devices ADD COLUMN color text;
  UPDATE devices SET color = 'blue';
  INSERT INTO schema_migrations (name, applied_at) VALUES ('0999_future', 0);`;

function factOf(minReader: string): string {
  const hex = Buffer.from(JSON.stringify({ version: '9.8.7', newest: '0999_future', minReader })).toString('hex');
  return `UPDATE meta SET value = x'${hex}' WHERE name = 'schema';`;
}

for (const [name, open] of Object.entries(backends)) {
  suite(`On ${name}, a database that a newer version has extended`, () => {
    test('is served, with a warning in the log and by doctor, and is backed up completely', async (t) => {
      const backend = await open(t);
      if (backend === null) return;
      const { installation, run, fact } = backend;
      const first = await installation.serve();
      const { key } = first;
      assert.doesNotMatch(first.log, /newer version/);
      await first.stop();
      const { minReader } = await fact();
      await run(extension + factOf(minReader));

      const gateway = await installation.serve();
      assert.equal((await notify({ api: gateway.api, key }, { title: 'after a rollback' })).body.stored, true);
      assert.match(gateway.log, new RegExp(`${newerLine}`));
      assert.match(gateway.log, /migrated by Tocsin 9\.8\.7/);
      const { findings } = JSON.parse((await installation.run(['doctor', '--json'])).stdout) as Findings;
      const warning = findings.find(({ message }) => message.includes('9.8.7'));
      assert.deepEqual([warning?.check, warning?.state], ['store', 'warning']);
      assert.deepEqual((await fact()).version, '9.8.7');

      const file = join(installation.dataDir, 'backup.tocsin');
      const { rows } = await installation.json<{ rows: Record<string, number> }>('backup', file);
      assert.equal(rows.aliases, 2);
      assert.equal(rows.notifications, 1);
      const db = new DatabaseSync(file, { readOnly: true });
      t.after(() => db.close());
      assert.deepEqual(
        db
          .prepare('SELECT owner_id, id, rank, hex(sealed) AS sealed FROM aliases ORDER BY id')
          .all()
          .map((row) => ({ ...row })),
        [
          { owner_id: 'own_1', id: 'a', rank: 1, sealed: '00FF' },
          { owner_id: 'own_1', id: 'b', rank: null, sealed: '' },
        ],
      );
      assert.equal(db.prepare('SELECT color FROM devices').get()?.color, 'blue');
      assert.ok(db.prepare("SELECT 1 FROM schema_migrations WHERE name = '0999_future'").get());

      // Unknown tables and columns must not be lost: only the newer version restores this backup.
      const elsewhere = await install(t);
      const restored = await elsewhere.run(['restore', file]);
      assert.equal(restored.exitCode, 1);
      assert.match(restored.stderr, /written by a newer version of Tocsin/);
    });

    test('that older versions cannot use is refused, and the message says what to do', async (t) => {
      const backend = await open(t);
      if (backend === null) return;
      const { installation, run } = backend;
      await (await installation.serve()).stop();
      await run(extension + factOf('0999_future'));
      const words =
        /changed by Tocsin 9\.8\.7 in a way that this version .* cannot use\. Start Tocsin 9\.8\.7 or newer, or restore a backup/;
      for (const command of [['serve'], ['inbox', 'list'], ['backup', join(installation.dataDir, 'backup.tocsin')]]) {
        const { exitCode, stderr, stdout } = await installation.run(command);
        assert.equal(exitCode, 1, command.join(' '));
        assert.match(stderr, words, `${command[0]}: ${stdout}`);
        assert.equal(stderr.trim().split('\n').length, 1, stderr);
      }
      const { findings } = JSON.parse((await installation.run(['doctor', '--json'])).stdout) as Findings;
      assert.ok(findings.some(({ state, message }) => state === 'failed' && words.test(message)));
    });
  });
}

test('A SQLite store that a newer version has extended is not moved partially to PostgreSQL', async (t) => {
  if (!canRun(t, postgresObstacle()) || server === null) return;
  const backend = await backends.SQLite?.(t);
  assert.ok(backend);
  await (await backend.installation.serve()).stop();
  await backend.run(extension);
  const moved = await backend.installation.run(['migrate-store', '--to', await server.createDatabase()]);
  assert.equal(moved.exitCode, 1);
  assert.match(moved.stderr, /newer version/);
});

interface Findings {
  findings: { check: string; state: string; message: string }[];
}
