// `tocsin backup` and `tocsin restore` with the embedded store. Those for PostgreSQL are in migrate-store.test.ts.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { Installation, launcher } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { KeyedLoad } from '@tocsin/test-support/keyed-load.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { writeOlderBackup } from '@tocsin/test-support/older-backup.ts';
import { notify, signedHeaders } from '@tocsin/test-support/requests.ts';
import { addRows, rowsOfFile } from '@tocsin/test-support/store-rows.ts';
import { readAll, withStore } from '@tocsin/test-support/stored-notifications.ts';
import { openBackup } from '../src/store/copy/backup.ts';

interface BackupJson {
  file: string;
  bytes: number;
  rows: Record<string, number>;
}

test('A backup under load, restored elsewhere, holds everything that was acknowledged before it began', {
  timeout: 120_000,
}, async (t) => {
  const { installation, gateway, firstRun } = await start(t);
  const { key } = firstRun;
  const before = performance.now();
  const load = new KeyedLoad(gateway);
  await eventually(
    'the load is running',
    30_000,
    () => load.acknowledged.length,
    (count) => count > 500,
  );
  const acknowledged = [...load.acknowledged];
  const began = performance.now();
  const { file, rows } = await installation.json<BackupJson>('backup', join(installation.dataDir, 'backup'));
  const ended = performance.now();
  await load.end();
  assert.deepEqual(load.refused, [], 'the backup did not slow down requests');
  t.diagnostic(
    `p99 ${load.p99(before, began).toFixed(1)} ms before and ${load.p99(began, ended).toFixed(1)} ms during the backup`,
  );

  const elsewhere = await emptyInstallation(t, installation);
  await elsewhere.json('restore', file);
  await withStore(elsewhere.dataDir, async (store) => {
    assert.deepEqual(await store.maintenance.verify(), [], 'everything can be decrypted');
    const { notifications } = await readAll(store, firstRun.owner);
    assert.equal(notifications.length, rows.notifications);
    const titles = new Map(notifications.map(({ id, content }) => [id, content.title]));
    const lost = acknowledged.filter(({ id, title }) => titles.get(id) !== title);
    assert.deepEqual(lost, [], 'acknowledged before the backup began, but missing from it');
    assert.ok(notifications.length < load.acknowledged.length, 'the load continued during the backup');
  });
  const db = new DatabaseSync(join(elsewhere.dataDir, 'tocsin.db'));
  for (const table of ['dispatches', 'idempotency']) {
    // They were written in one transaction: every notification had an idempotency key and a delivery to a device.
    const half = db.prepare(`SELECT id, notification_id FROM notifications FULL JOIN ${table}
      ON notification_id = id WHERE id IS NULL OR notification_id IS NULL`);
    assert.deepEqual(half.all(), [], `a notification without its row in ${table}, or the other way round`);
  }
  db.close();

  const restored = await elsewhere.serve();
  const [first] = acknowledged;
  assert.ok(first);
  const again = await notify({ api: restored.api, key }, { title: first.title }, { 'Idempotency-Key': first.title });
  assert.equal(again.headers.get('idempotency-replayed'), 'true', 'a request from before the backup is recognized');
  assert.equal(again.body.id, first.id);
});

test('A signed request that was used before the backup is refused after the restore', async (t) => {
  const { installation, gateway, firstRun } = await start(t);
  const { key } = firstRun;
  const body = JSON.stringify({ title: 'once' });
  const headers = signedHeaders(key, body);
  assert.equal((await notify(gateway, body, headers)).status, 200);
  const file = await backUp(installation);
  const elsewhere = await emptyInstallation(t, installation);
  await elsewhere.json('restore', file);
  const restored = await elsewhere.serve();
  assert.equal((await notify({ api: restored.api, key }, body, headers)).status, 401);
  assert.equal((await notify({ api: restored.api, key }, body)).status, 200);
});

test('A backup is readable only by its owner, holds no plaintext and no key, and never overwrites a file', async (t) => {
  const { installation, gateway } = await start(t);
  await notify(gateway, { title: 'the plaintext of this' });
  const file = join(installation.dataDir, 'backup');
  const { stdout } = await installation.run(['backup', file]);
  assert.match(stdout, /1 notification;/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const bytes = readFileSync(file);
  assert.ok(!bytes.includes('the plaintext of this'));
  assert.ok(!bytes.includes(Buffer.from(readFileSync(masterKeyOf(installation), 'utf8').trim(), 'base64url')));
  const second = await installation.run(['backup', file]);
  assert.equal(second.exitCode, 1);
  assert.match(second.stderr, /already exists/);
  assert.deepEqual(readFileSync(file), bytes);
});

test('A backup needs no master key', async (t) => {
  const { installation } = await start(t);
  copyFileSync(masterKeyOf(installation), join(installation.dataDir, 'elsewhere'));
  writeFileSync(masterKeyOf(installation), `${randomBytes(32).toString('base64url')}\n`);
  assert.ok(existsSync(await backUp(installation)));
});

test('A backup that is killed leaves no file under its name, and the next one is complete', async (t) => {
  const { installation, gateway } = await start(t);
  await gateway.stop();
  addRows(databaseOf(installation), 50_000);
  const file = join(installation.dataDir, 'backup');
  const child = spawn(process.execPath, [launcher, 'backup', file], {
    env: { PATH: process.env.PATH, ...installation.environment },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  await eventually(
    'the backup is being written',
    20_000,
    () => existsSync(`${file}.part`) && statSync(`${file}.part`).size,
    Boolean,
  );
  child.kill('SIGKILL');
  assert.deepEqual(await exited, [null, 'SIGKILL']);
  assert.ok(existsSync(`${file}.part`) && !existsSync(file));
  const { rows } = await installation.json<BackupJson>('backup', file);
  assert.equal(rows.notifications, 50_000);
  assert.ok(!existsSync(`${file}.part`));
  assert.deepEqual(rowsOfFile(file), rowsOfFile(databaseOf(installation)));
});

test('A file that is not a backup of ours is not overwritten by a backup', async (t) => {
  const { installation } = await start(t);
  const file = join(installation.dataDir, 'backup');
  const other = `${file}.part`;
  writeFileSync(other, 'precious');
  const refused = await installation.run(['backup', file]);
  assert.equal(refused.exitCode, 1);
  assert.match(refused.stderr, /backup\.part is in the way and was not written by Tocsin/);
  assert.equal(readFileSync(other, 'utf8'), 'precious');
  writeFileSync(other, '');
  await installation.json('backup', file);
  assert.ok(!existsSync(other), 'a backup that is killed at once leaves an empty file');
});

test('If two backups write to one file at the same time, one is made and the other refused', async (t) => {
  const { installation, gateway } = await start(t);
  // A server would delete these rows, which belong to no owner.
  await gateway.stop();
  addRows(databaseOf(installation), 20_000);
  const file = join(installation.dataDir, 'backup');
  const results = await Promise.all([installation.run(['backup', file]), installation.run(['backup', file])]);
  assert.deepEqual(results.map(({ exitCode }) => exitCode).sort(), [0, 1], JSON.stringify(results));
  assert.deepEqual(rowsOfFile(file), rowsOfFile(databaseOf(installation)));
});

suite('A restore refuses, and changes nothing, for', () => {
  const spoilt: Record<string, { spoil: (file: string, installation: Installation) => void; says: RegExp }> = {
    'a file that is not a database': {
      spoil: (file) => writeFileSync(file, 'Dear diary, today nothing was backed up.'),
      says: /not a Tocsin backup/,
    },
    'a database that is not a backup': {
      spoil: (file, installation) => copyFileSync(databaseOf(installation), file),
      says: /not a Tocsin backup/,
    },
    'a truncated backup': { spoil: (file) => truncateSync(file, statSync(file).size - 5000), says: /damaged/ },
    'a backup with a changed byte in an encrypted value': {
      spoil: (file) => flipByte(file, sealedValueIn(file)),
      says: /the digest of notifications is wrong/,
    },
    'a backup from a newer version': {
      spoil: (file) => execute(file, "INSERT INTO schema_migrations VALUES ('9999_from_the_future', 0)"),
      says: /newer version/,
    },
    'a backup with an empty manifest': {
      spoil: (file) => execute(file, "UPDATE tocsin_backup SET manifest = 'null'"),
      says: /its manifest is invalid/,
    },
    'a backup whose manifest does not list its tables': {
      spoil: (file) => execute(file, `UPDATE tocsin_backup SET manifest = '{"format":1,"version":"1","createdAt":0}'`),
      says: /its manifest is invalid/,
    },
    'a backup with an invalid creation time': {
      spoil: (file) => execute(file, "UPDATE tocsin_backup SET manifest = json_set(manifest, '$.createdAt', 1e300)"),
      says: /its manifest is invalid/,
    },
    'a backup with a view that never ends in place of a table': {
      spoil: (file) => execute(file, `DROP TABLE idempotency; CREATE VIEW idempotency AS ${endless}`),
      says: /idempotency is not a table/,
    },
    'a backup with a number that is too large': {
      spoil: (file) => execute(file, 'UPDATE notifications SET created_at = 9223372036854775807'),
      says: /not a Tocsin backup, or is damaged/,
    },
    'a backup with a missing row': {
      spoil: (file) => execute(file, 'DELETE FROM api_keys'),
      says: /the digest of api_keys is wrong/,
    },
  };
  let original: { installation: Installation; file: string };
  before(async () => {
    const installation = await Installation.create();
    const gateway = await installation.serve();
    await notify(gateway, { title: 'a notification' });
    await gateway.stop();
    original = { installation, file: await backUp(installation) };
  });
  after(() => original.installation.remove());

  for (const [what, { spoil, says }] of Object.entries(spoilt)) {
    test(what, async (t) => {
      const elsewhere = await emptyInstallation(t, original.installation);
      const file = join(original.installation.dataDir, 'spoilt');
      copyFileSync(original.file, file);
      spoil(file, original.installation);
      const { exitCode, stderr } = await elsewhere.run(['restore', file]);
      assert.equal(exitCode, 1);
      assert.match(stderr, says);
      assert.doesNotMatch(stderr, /\n {4}at /, 'the error is a sentence, not a stack trace');
      assert.deepEqual(readdirSync(elsewhere.dataDir), ['master.key']);
    });
  }

  test('another master key, or none', async (t) => {
    const { installation, file } = original;
    const elsewhere = await emptyInstallation(t, installation);
    const wrong = await elsewhere.run(['restore', file], { TOCSIN_MASTER_KEY: randomBytes(32).toString('base64') });
    assert.equal(wrong.exitCode, 1);
    assert.match(wrong.stderr, /was encrypted with a master key that is not in .*before a rotation/);
    const none = await install(t);
    const missing = await none.run(['restore', file]);
    assert.equal(missing.exitCode, 1);
    assert.match(missing.stderr, /there is no master key/);
    assert.deepEqual(readdirSync(none.dataDir), [], 'and no key is created');
  });

  test('a store that holds data, except with --replace, which then keeps a copy of it', async (t) => {
    const { installation, gateway } = await start(t);
    const file = await backUp(installation);
    await notify(gateway, { title: 'after the backup' });
    await gateway.stop();
    const before = rowsOfFile(databaseOf(installation));
    const refused = await installation.run(['restore', file]);
    assert.equal(refused.exitCode, 1);
    assert.match(refused.stderr, /already contains data/);
    assert.deepEqual(rowsOfFile(databaseOf(installation)), before);
    const { kept } = await installation.json<{ kept: string }>('restore', file, '--replace');
    assert.deepEqual(rowsOfFile(kept), before);
    assert.deepEqual(rowsOfFile(databaseOf(installation)), rowsOfFile(file));
  });

  test('a store that a server is using, even with --replace', async (t) => {
    const { installation, gateway } = await start(t);
    const file = await backUp(installation);
    const { exitCode, stderr } = await installation.run(['restore', file, '--replace']);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^Another Tocsin server .* is using the data directory .*Stop it first/);
    const { body } = await notify(gateway, { title: 'still here' });
    assert.equal(body.stored, true);
    await gateway.stop();
    const inbox = await installation.json<{ title: string }[]>('inbox', 'list');
    assert.deepEqual(
      inbox.map(({ title }) => title),
      ['still here'],
    );
  });
});

test('A database that is too damaged to open is moved aside with --replace', async (t) => {
  const { installation, gateway } = await start(t);
  const file = await backUp(installation);
  await gateway.stop();
  const expected = rowsOfFile(file);
  const damaged = randomBytes(8192);
  writeFileSync(databaseOf(installation), damaged);
  const refused = await installation.run(['restore', file]);
  assert.match(refused.stderr, /Use --replace to move it aside/);
  const { kept } = await installation.json<{ kept: string }>('restore', file, '--replace');
  assert.deepEqual(readFileSync(kept), damaged);
  assert.deepEqual(rowsOfFile(databaseOf(installation)), expected);
});

test('The write-ahead log of a lost database is not applied to the restored database', async (t) => {
  const { installation, gateway } = await start(t);
  const file = await backUp(installation);
  await notify(gateway, { title: 'after the backup' });
  await gateway.kill();
  assert.ok(statSync(`${databaseOf(installation)}-wal`).size > 0, 'the write-ahead log of the killed server exists');
  rmSync(databaseOf(installation));
  await installation.json('restore', file);
  assert.deepEqual(rowsOfFile(databaseOf(installation)), rowsOfFile(file));
});

test('A backup with any single byte changed is refused or reads unchanged', async (t) => {
  const { installation, gateway } = await start(t);
  for (let count = 0; count < 20; count += 1) await notify(gateway, { title: `notification ${count}` });
  const file = await backUp(installation);
  const original = readFileSync(file);
  const expected = rowsOfFile(file);
  let refused = 0;
  const changes = isLongRun ? 360 : 40;
  for (let count = 0; count < changes; count += 1) {
    const offset = Math.floor((count / changes) * original.length) + (count % 7);
    writeFileSync(file, original);
    flipByte(file, offset);
    const backup = await openBackup(file).catch((error: Error) => {
      assert.equal(error.name, 'Problem', `at ${offset}: ${error.stack}`);
      refused += 1;
      return null;
    });
    await backup?.close();
    if (backup !== null) assert.deepEqual(rowsOfFile(file), expected, `the byte at ${offset}`);
  }
  assert.ok(refused > 5, `only ${refused} were refused`);
  t.diagnostic(`${refused} of ${changes} refused; the others lie in unused space`);
});

test('A backup of an older version is restored and brought up to date', async (t) => {
  const { installation, gateway, firstRun } = await start(t);
  await notify(gateway, { title: 'from long ago' });
  await gateway.stop();
  const file = join(installation.dataDir, 'backup');
  await writeOlderBackup(databaseOf(installation), file);
  const elsewhere = await emptyInstallation(t, installation);
  await elsewhere.json('restore', file);
  assert.deepEqual(
    Object.keys(rowsOfFile(databaseOf(elsewhere))).sort(),
    Object.keys(rowsOfFile(databaseOf(installation))).sort(),
    'every table exists',
  );
  const restored = await elsewhere.serve();
  assert.equal((await notify({ api: restored.api, key: firstRun.key }, { title: 'today' })).body.stored, true);
  const inbox = await elsewhere.json<{ title: string }[]>('inbox', 'list');
  assert.deepEqual(
    inbox.map(({ title }) => title),
    ['today', 'from long ago'],
  );
});

async function start(t: TestContext) {
  const installation = await install(t);
  const gateway = await installation.serve();
  const { firstRun } = gateway.line;
  assert.ok(firstRun);
  return { installation, gateway, firstRun };
}

/** Another data directory that holds only the master key. */
async function emptyInstallation(t: TestContext, original: Installation): Promise<Installation> {
  const installation = await install(t);
  copyFileSync(masterKeyOf(original), masterKeyOf(installation));
  return installation;
}

async function backUp(installation: Installation): Promise<string> {
  const file = join(installation.dataDir, 'backup');
  await installation.json('backup', file);
  return file;
}

function masterKeyOf({ dataDir }: Installation): string {
  return join(dataDir, 'master.key');
}

function databaseOf({ dataDir }: Installation): string {
  return join(dataDir, 'tocsin.db');
}

const endless = `WITH RECURSIVE counted(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM counted)
  SELECT x AS owner_id, x AS key_digest, x AS fingerprint, x AS notification_id, x AS lease_until, x AS expires_at,
    x AS sealed FROM counted`;

function execute(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

function sealedValueIn(file: string): number {
  const db = new DatabaseSync(file, { readOnly: true });
  const sealed = db.prepare('SELECT sealed FROM notifications').get()?.sealed as Uint8Array;
  db.close();
  return readFileSync(file).indexOf(sealed) + sealed.length - 1;
}

function flipByte(file: string, offset: number): void {
  const bytes = readFileSync(file);
  bytes[offset] = (bytes[offset] as number) ^ 0x10;
  writeFileSync(file, bytes);
}
