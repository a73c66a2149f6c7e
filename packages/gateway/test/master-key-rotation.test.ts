// The master key is rotated under running servers: no request fails, no data is lost, and the old key decrypts nothing afterwards.
// TOCSIN_TEST_ROTATION_OWNERS=2000 TOCSIN_TEST_ROTATION_ROWS=50 runs the test on a large store.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, type Installation, launcher } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { pauseBetweenRequests } from '@tocsin/test-support/pace.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { RowTamperer } from '@tocsin/test-support/row-tamperer.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { parseMasterKeys } from '../src/core/master-key-format.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import { openStore } from '../src/store/open-store.ts';
import type { Database } from '../src/store/schema/database.ts';
import { createSqliteDatabase } from '../src/store/sqlite/database.ts';
import { isPlaintext } from '../src/store/upkeep/encrypted-columns.ts';
import { createMasterKeyRepository } from '../src/store/upkeep/rotation.ts';
import { masterKeySource } from '../src/store/vault/master-key.ts';
import { MasterKeyring } from '../src/store/vault/master-keyring.ts';
import type { RotationProgress, Store } from '../src/usecases/ports/index.ts';
import { createKey, createOwner, systemEnvironment as environment } from '../src/usecases/registration.ts';

const owners = Number(process.env.TOCSIN_TEST_ROTATION_OWNERS ?? 60);
const rowsPerOwner = Number(process.env.TOCSIN_TEST_ROTATION_ROWS ?? 3);

describe('Rotating the master key of a store:', () => {
  test('every value is encrypted with the new key, which alone decrypts it, and the key file holds no other', async (t) => {
    const { dataDir, keys } = await prepare(t, 3);
    const oldKey = await readFile(join(dataDir, 'master.key'), 'utf8');
    const nodes = countVersionNodes(dataDir);
    const report = await withStore(dataDir, (store) => store.masterKeys.rotate());
    const { oldKeyFile, ...rest } = report;
    assert.deepEqual(rest, { version: 2, retired: [1], resealed: 3 + 3 + 1 + nodes, damaged: [], todo: [] });
    assert.equal(await readFile(oldKeyFile as string, 'utf8'), oldKey);
    const newKey = await readFile(join(dataDir, 'master.key'), 'utf8');
    assert.equal(parseMasterKeys(newKey)?.length, 1);
    assert.notEqual(newKey, oldKey);
    assert.equal((await stat(join(dataDir, 'master.key'))).mode & 0o777, 0o600);
    await assertWholeUnder(dataDir, 2, keys);
    await rm(join(dataDir, 'master.key'));
    await assert.rejects(openWith(dataDir, oldKey), /not the one this database was encrypted with/);
    await (await openWith(dataDir, newKey)).close();
    // A second rotation, to see that versions are counted and not toggled.
    await writeFile(join(dataDir, 'master.key'), newKey);
    const again = await withStore(dataDir, (store) => store.masterKeys.rotate());
    assert.deepEqual([again.version, again.retired], [3, [2]]);
    await assertWholeUnder(dataDir, 3, keys);
  });

  // More rows than one transaction re-encrypts, so that one interruption falls in the middle.
  const steps: { what: string; isHere: (progress: RotationProgress) => boolean }[] = [
    { what: 'before the new key is in use', isHere: ({ step }) => step === 'key_ready' },
    { what: 'before any value is re-encrypted', isHere: ({ step }) => step === 'key_in_use' },
    { what: 'in the middle of re-encryption', isHere: ({ resealed = 0 }) => resealed > 0 },
    { what: 'before the old key is dropped', isHere: ({ step }) => step === 'old_key_retired' },
  ];
  for (const { what, isHere } of steps) {
    test(`interrupted ${what}, all values stay readable for old and new processes, and the next rotation finishes it`, async (t) => {
      const { dataDir, keys } = await prepare(t, 220);
      const running = await open(t, dataDir);
      const interrupted = running.masterKeys.rotate({
        onProgress: (progress) => {
          if (isHere(progress)) throw new Error('interrupted here');
        },
      });
      await assert.rejects(interrupted, /interrupted here/);
      const fresh = await open(t, dataDir);
      for (const store of [running, fresh]) await assertAllOpen(store, keys);
      const during = await createOwner(running, environment, { name: 'During', email: null, emailAlerts: false });
      const report = await fresh.masterKeys.rotate();
      assert.equal(report.version, 2, 'the rotation resumes instead of starting again');
      await assertWholeUnder(dataDir, 2, keys);
      assert.equal((await running.owners.find(during.id))?.name, 'During');
      assert.equal(parseMasterKeys(await readFile(join(dataDir, 'master.key'), 'utf8'))?.length, 1);
    });
  }

  test('a process that did not notice the rotation encrypts with the new key afterwards, and with no other', async (t) => {
    const { dataDir, keys, ids } = await prepare(t, 2);
    const asleep = await open(t, dataDir);
    await withStore(dataDir, (store) => store.masterKeys.rotate());
    const owner = await createOwner(asleep, environment, { name: 'Late', email: null, emailAlerts: false });
    await createKey(asleep, environment, { ownerId: owner.id, type: 'public_client' });
    const sleepier = await open(t, dataDir);
    await withStore(dataDir, (store) => store.masterKeys.rotate());
    await sleepier.keys.revoke(ids[0] as string, 1);
    const sleepiest = await open(t, dataDir);
    await withStore(dataDir, (store) => store.masterKeys.rotate());
    await sleepiest.secrets.obtain('late', () => 'secret');
    await assertWholeUnder(dataDir, 4, keys);
  });

  test('a revocation between reading and re-encrypting is kept', async (t) => {
    const { dataDir, keys, ids } = await prepare(t, 2);
    const server = await open(t, dataDir);
    const id = ids[0] as string;
    let isRevoked = false;
    const database = interfering(join(dataDir, 'tocsin.db'), async (sql) => {
      if (isRevoked || !sql.includes('update "api_keys"')) return;
      isRevoked = true;
      await server.keys.revoke(id, 42);
    });
    t.after(() => database.close());
    const source = masterKeySource(null, join(dataDir, 'master.key'));
    const master = await MasterKeyring.open(database, source, () => undefined);
    await createMasterKeyRepository(database, master).rotate();
    assert.ok(isRevoked);
    const key = await (await open(t, dataDir)).keys.find(keys[0]?.digest as string);
    assert.equal(key?.revokedAt, 42);
    await assertWholeUnder(dataDir, 2, keys);
  });

  test('values that cannot be decrypted are reported and kept, and do not block the rest', async (t) => {
    const { dataDir, keys, ids } = await prepare(t, 3);
    const rows = new RowTamperer(dataDir);
    t.after(() => rows.close());
    const [id] = ids as [string];
    const sealed = rows.read('api_keys', 'sealed', { id });
    sealed[40] = (sealed[40] as number) ^ 1;
    rows.update('api_keys', { sealed }, { id });
    const { damaged, retired } = await withStore(dataDir, (store) => store.masterKeys.rotate());
    assert.deepEqual(damaged.length, 1);
    assert.match(damaged[0] as string, new RegExp(`^api_keys own_\\w+/${id}$`));
    assert.deepEqual(retired, [1]);
    await assertAllOpen(await open(t, dataDir), keys.slice(1));
  });

  test('a second rotation at the same time is refused, and the first is not affected', async (t) => {
    const { dataDir, keys } = await prepare(t, 2);
    const [one, other] = [await open(t, dataDir), await open(t, dataDir)];
    const [first, second] = await Promise.allSettled([one.masterKeys.rotate(), other.masterKeys.rotate()]);
    assert.equal(first.status, 'fulfilled');
    assert.match(String((second as PromiseRejectedResult).reason), /Another rotation is running/);
    await assertWholeUnder(dataDir, 2, keys);
  });

  test('the old key is kept next to the key file by default, readable by its user only, and never overwrites another file', async (t) => {
    const { dataDir } = await prepare(t, 1);
    const keyFile = join(dataDir, 'master.key');
    const today = new Date().toISOString().slice(0, 10);
    await writeFile(`${keyFile}.old-${today}`, 'a file of the operator');
    const keys: string[] = [];
    const files: (string | null)[] = [];
    for (let rotation = 0; rotation < 2; rotation += 1) {
      keys.push(await readFile(keyFile, 'utf8'));
      files.push((await withStore(dataDir, (store) => store.masterKeys.rotate())).oldKeyFile);
    }
    assert.deepEqual(files, [`${keyFile}.old-${today}-2`, `${keyFile}.old-${today}-3`]);
    for (const [index, file] of files.entries()) {
      assert.equal(await readFile(file as string, 'utf8'), keys[index]);
      assert.equal((await stat(file as string)).mode & 0o777, 0o600);
    }
    assert.equal(await readFile(`${keyFile}.old-${today}`, 'utf8'), 'a file of the operator');
  });

  test('a rotation that is interrupted and repeated keeps the old key once', async (t) => {
    const { dataDir } = await prepare(t, 1);
    const oldKey = await readFile(join(dataDir, 'master.key'), 'utf8');
    const interrupted = withStore(dataDir, (store) =>
      store.masterKeys.rotate({
        onProgress: ({ step }) => {
          if (step === 'key_in_use') throw new Error('interrupted here');
        },
      }),
    );
    await assert.rejects(interrupted, /interrupted here/);
    await withStore(dataDir, (store) => store.masterKeys.rotate());
    const kept = (await readdir(dataDir)).filter((name) => name.startsWith('master.key.old-'));
    assert.equal(kept.length, 1);
    assert.equal(await readFile(join(dataDir, kept[0] as string), 'utf8'), oldKey);
  });

  test('the old key is not kept if the operator asks for that', async (t) => {
    const installation = await create(t);
    await createOwnerAndKey(installation);
    const { exitCode, stdout, stderr } = await installation.run(['master-key', 'rotate', '--discard-old-key']);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /The old key was not saved\. Older backups can only be restored with a copy of it/);
    assert.doesNotMatch(stdout, /Keep the old key/);
    const names = await readdir(installation.dataDir);
    assert.deepEqual(
      names.filter((name) => name.includes('.old-')),
      [],
    );
    const both = await installation.run(['master-key', 'rotate', '--discard-old-key', '--old-key-to', 'x']);
    assert.equal(both.exitCode, 2);
  });

  test('a backup from before the rotation is restored with the old key that the rotation kept', async (t) => {
    const installation = await create(t);
    const { key } = await createOwnerAndKey(installation);
    const backup = join(installation.dataDir, 'backup.db');
    await installation.json('backup', backup);
    const rotated = await installation.run(['master-key', 'rotate']);
    const [, kept = ''] = /^The old key was saved to (\S+)\. Older backups need it/m.exec(rotated.stdout) ?? [];
    assert.match(kept, /master\.key\.old-\d{4}-\d\d-\d\d$/);
    const refused = await installation.run(['restore', backup, '--replace']);
    assert.equal(refused.exitCode, 1);
    const [, command = ''] = /append it to the current one with '([^']+)'/.exec(refused.stderr) ?? [];
    assert.equal(command, `cat ${kept} >> ${join(installation.dataDir, 'master.key')}`);
    assert.equal(spawnSync('sh', ['-c', command]).status, 0);
    await installation.json('restore', backup, '--replace');
    const gateway = await installation.serve();
    assert.equal((await notify({ api: gateway.api, key }, { title: 'restored' })).body.stored, true);
    assert.equal(await gateway.stop(), 0);
    // The current key is active again, and the file holds no other.
    await installation.json('master-key', 'rotate');
    const doctor = await installation.run(['doctor', '--deep']);
    assert.match(doctor.stdout, /every row can be decrypted/);
    assert.equal(parseMasterKeys(await readFile(join(installation.dataDir, 'master.key'), 'utf8'))?.length, 1);
  });

  test('the old key is saved to the file that the operator names, before the key is replaced', async (t) => {
    const { dataDir } = await prepare(t, 1);
    const before = await readFile(join(dataDir, 'master.key'), 'utf8');
    const oldKeyFile = join(dataDir, 'old.key');
    await withStore(dataDir, (store) => store.masterKeys.rotate({ oldKeyFile }));
    assert.equal(await readFile(oldKeyFile, 'utf8'), before);
    assert.equal((await stat(oldKeyFile)).mode & 0o777, 0o600);
    const again = withStore(dataDir, (store) => store.masterKeys.rotate({ oldKeyFile }));
    await assert.rejects(again, /old\.key: it already exists\. Nothing was changed/);
    assert.deepEqual(new Set(sealedVersions(dataDir).map(([version]) => version)), new Set([2]));
  });

  test('interrupted at its end, it saves the old key to the file that the operator names, also if the file exists', async (t) => {
    const { dataDir, oldKey, newKey } = await prepareInterrupted(t);
    const [oldKeyFile, keyFile] = [join(dataDir, 'old.key'), join(dataDir, 'master.key')];
    const steps: string[] = [];
    const rotateOn = () =>
      withStore(dataDir, (store) =>
        store.masterKeys.rotate({ oldKeyFile, onProgress: ({ step }) => void steps.push(step) }),
      );
    await rotateOn();
    assert.deepEqual(
      [await readFile(oldKeyFile, 'utf8'), await readFile(keyFile, 'utf8')],
      [oldKey, newKey],
      'the old key is kept, the new one is active',
    );
    // Simulates a second interruption, after the old key was saved and before it was dropped.
    await writeFile(keyFile, newKey + oldKey);
    await rotateOn();
    assert.deepEqual([await readFile(oldKeyFile, 'utf8'), await readFile(keyFile, 'utf8')], [oldKey, newKey]);
    assert.deepEqual(steps, ['old_key_retired', 'old_key_retired'], 'no new key was activated');
  });

  test('if the old key would be lost or cannot be saved, nothing is changed', async (t) => {
    const { dataDir } = await prepare(t, 1);
    const keyFile = join(dataDir, 'master.key');
    const link = join(dataDir, 'link');
    await symlink(keyFile, link);
    const before = await snapshot(dataDir);
    const says: [string, RegExp][] = [
      [keyFile, /is the master key file itself/],
      [link, /is the master key file itself/],
      [`${keyFile}.draft`, /is the master key file itself/],
      [dataDir, /cannot be written to .*: it is a directory/],
      [join(dataDir, 'nowhere', 'old.key'), /cannot be written to .*: no such file or directory/],
    ];
    for (const [oldKeyFile, message] of says) {
      const refused = withStore(dataDir, (store) => store.masterKeys.rotate({ oldKeyFile }));
      await assert.rejects(refused, (error: Error) => {
        assert.equal(error.name, 'Problem', String(error.stack));
        assert.match(error.message, message);
        assert.match(error.message, /Nothing was changed/);
        return true;
      });
      assert.deepEqual(await snapshot(dataDir), before);
    }
  });

  test('a retired key is not accepted as a new one, wherever it is configured', async (t) => {
    const { dataDir, oldKey, newKey } = await prepareInterrupted(t);
    const keyFile = join(dataDir, 'master.key');
    await writeFile(keyFile, oldKey + newKey);
    const before = await snapshot(dataDir);
    const refused = withStore(dataDir, (store) => store.masterKeys.rotate());
    await assert.rejects(refused, /has been retired by a rotation.*Put the newest key first\. Nothing was changed/s);
    assert.deepEqual(await snapshot(dataDir), before);
    const { nextKeyGiven, spareKeys } = await withStore(dataDir, (store) => store.masterKeys.status());
    assert.deepEqual({ nextKeyGiven, spareKeys }, { nextKeyGiven: false, spareKeys: 1 });
    await writeFile(keyFile, newKey + oldKey);
    assert.equal((await withStore(dataDir, (store) => store.masterKeys.rotate())).version, 2);
    assert.equal(await readFile(keyFile, 'utf8'), newKey);
  });

  test('no file holds a value encrypted with the old key', async (t) => {
    const { dataDir } = await prepare(t, 50);
    const db = new DatabaseSync(join(dataDir, 'tocsin.db'), { readOnly: true });
    const old = db.prepare('SELECT wrapped FROM data_keys').all() as { wrapped: Uint8Array }[];
    db.close();
    await withStore(dataDir, async (store) => {
      await store.masterKeys.rotate();
      const files = await Promise.all((await readdir(dataDir)).map((name) => readFile(join(dataDir, name))));
      const found = old.filter(({ wrapped }) => files.some((bytes) => bytes.includes(wrapped.subarray(15))));
      assert.equal(found.length, 0);
    });
  });
});

describe('Keys from the operator:', () => {
  const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('hex')];

  test('from a variable: one key prints instructions, two keys are rotated, and then the new one is enough', async (t) => {
    const installation = await create(t, { TOCSIN_MASTER_KEY: oldKey });
    const { key } = await createOwnerAndKey(installation);
    const alone = await installation.run(['master-key', 'rotate']);
    assert.equal(alone.exitCode, 1);
    assert.match(alone.stderr, /TOCSIN_MASTER_KEY="new,old".*Nothing was changed/s);
    const both = { TOCSIN_MASTER_KEY: `${newKey},${oldKey}` };
    const gateway = await installation.serve(both);
    assert.equal((await notify({ api: gateway.api, key }, { title: 'before' })).body.stored, true);
    const rotated = await installation.run(['master-key', 'rotate', '--json'], both);
    assert.equal(rotated.exitCode, 0, rotated.stderr);
    assert.equal(JSON.parse(rotated.stdout).version, 2);
    assert.match(rotated.stderr, /Remove all keys except the first from TOCSIN_MASTER_KEY/);
    assert.equal((await notify({ api: gateway.api, key }, { title: 'after' })).body.stored, true);
    assert.equal(await gateway.stop(), 0);
    const refused = await installation.run(['owner', 'list']);
    assert.equal(refused.exitCode, 1);
    assert.match(refused.stderr, /not the one this database was encrypted with/);
    const listed = await installation.run(['inbox', 'list'], { TOCSIN_MASTER_KEY: newKey });
    assert.match(listed.stdout, /after/);
    for (const secret of [oldKey, newKey])
      assert.ok(!(rotated.stderr + rotated.stdout + alone.stderr).includes(secret));
  });

  test('two simultaneous rotations from a variable do no harm', async (t) => {
    const installation = await create(t, { TOCSIN_MASTER_KEY: oldKey });
    await createOwnerAndKey(installation);
    const both = { TOCSIN_MASTER_KEY: `${newKey},${oldKey}` };
    const results = await Promise.all([1, 2].map(() => installation.run(['master-key', 'rotate'], both)));
    for (const { exitCode, stderr } of results) assert.equal(exitCode, 0, stderr);
    assert.deepEqual(new Set(sealedVersions(installation.dataDir).map(([version]) => version)), new Set([2]));
    const doctor = await installation.run(['doctor', '--deep'], { TOCSIN_MASTER_KEY: newKey });
    assert.match(doctor.stdout, /every row can be decrypted/);
  });

  test('a wrong key is refused, and nothing is changed', async (t) => {
    const installation = await create(t);
    await createOwnerAndKey(installation);
    const before = await snapshot(installation.dataDir);
    const wrong = await installation.run(['master-key', 'rotate'], { TOCSIN_MASTER_KEY: newKey });
    assert.equal(wrong.exitCode, 1);
    assert.match(wrong.stderr, /not the one this database was encrypted with/);
    assert.deepEqual(await snapshot(installation.dataDir), before);
  });

  test('a key file that TOCSIN_MASTER_KEY_FILE names by a symbolic link is rewritten, and the server reads it again', async (t) => {
    const installation = await create(t);
    const folder = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
    t.after(() => rm(folder, { recursive: true }));
    const [target, link] = [join(folder, 'target'), join(folder, 'link')];
    await writeFile(target, oldKey, { mode: 0o640 });
    await symlink(target, link);
    installation.environment.TOCSIN_MASTER_KEY_FILE = link;
    const { key } = await createOwnerAndKey(installation);
    const gateway = await installation.serve();
    await installation.json('master-key', 'rotate');
    assert.equal((await notify({ api: gateway.api, key }, { title: 'after' })).body.stored, true);
    assert.ok((await lstat(link)).isSymbolicLink());
    assert.equal((await stat(target)).mode & 0o777, 0o640, 'users who could read it before still can');
    assert.ok(!(await readFile(target, 'utf8')).includes(oldKey));
  });

  test('a key file that cannot be written is reported, and rotation works once the operator has added the new key', async (t) => {
    const installation = await create(t);
    await createOwnerAndKey(installation);
    const file = join(installation.dataDir, 'master.key');
    await mkdir(`${file}.draft`);
    const refused = await installation.run(['master-key', 'rotate']);
    assert.equal(refused.exitCode, 1);
    assert.match(refused.stderr, /master\.key cannot be written.*in front of the current one.*Nothing was changed/s);
    await writeFile(file, `${newKey}\n${await readFile(file, 'utf8')}`);
    assert.deepEqual(await installation.json<object>('master-key', 'status'), {
      source: file,
      versions: [{ version: 1, values: 2 + countVersionNodes(installation.dataDir) }],
      spareKeys: 1,
      nextKeyGiven: true,
      rotating: false,
    });
    const rotated = await installation.run(['master-key', 'rotate']);
    assert.equal(rotated.exitCode, 0, rotated.stderr);
    assert.match(rotated.stderr, /Remove all keys except the first from .*master\.key/);
    await writeFile(file, newKey);
    assert.equal((await installation.run(['doctor'])).stdout.includes('FAILED'), false);
  });

  test('a server without the new key responds with authentication_unavailable, never with 500', async (t) => {
    const installation = await create(t, { TOCSIN_MASTER_KEY: oldKey });
    const { key } = await createOwnerAndKey(installation);
    const gateway = await installation.serve();
    const rotated = await installation.run(['master-key', 'rotate'], { TOCSIN_MASTER_KEY: `${newKey},${oldKey}` });
    assert.equal(rotated.exitCode, 0, rotated.stderr);
    const answer = await eventually(
      'the key file is read again',
      5000,
      () => notify({ api: gateway.api, key }, { title: 'x' }),
      ({ status }) => status !== 200,
    );
    assert.equal(answer.status, 401);
    assert.equal(answer.body.code, 'authentication_unavailable');
    assert.equal((await fetch(new URL('/readyz', gateway.line.console))).status, 503);
  });
});

describe('On PostgreSQL:', () => {
  const obstacle = postgresObstacle();
  const [oldKey, newKey] = [randomBytes(32), randomBytes(32)].map((bytes) => createSecretKey(bytes)) as [
    KeyObject,
    KeyObject,
  ];

  test('values that other nodes write meanwhile end up under the new key, and none is lost', async (t) => {
    if (!canRun(t, obstacle)) return;
    const { openNode, dataDir, query } = await startPostgres(t);
    const first = await openNode([oldKey]);
    const before = await createOwner(first, environment, { name: 'Before', email: null, emailAlerts: false });
    await assert.rejects(first.masterKeys.rotate(), /Every server needs the new key first.*Nothing was changed/s);
    const [node, rotating] = [await openNode([newKey, oldKey]), await openNode([newKey, oldKey])];
    const made: string[] = [];
    let isOver = false;
    const writing = (async () => {
      while (!isOver) {
        const { id } = await createOwner(node, environment, { name: 'During', email: null, emailAlerts: false });
        await createKey(node, environment, { ownerId: id, type: 'public_client' });
        made.push(id);
      }
    })();
    await eventually(
      'owners are being created',
      5000,
      () => made.length,
      (count) => count > 20,
    );
    const report = await rotating.masterKeys.rotate();
    isOver = true;
    await writing;
    assert.deepEqual([report.version, report.retired], [2, [1]]);
    const { versions } = await rotating.masterKeys.status();
    assert.deepEqual(
      versions.map(({ version }) => version),
      [2],
    );
    const [nodes] = await query<{ count: string }>('SELECT count(*) FROM row_versions');
    const values = 1 + 2 * made.length + Number(nodes?.count);
    assert.equal(
      versions[0]?.values,
      values,
      'every data key, API key and row-version node is counted, and nothing else',
    );
    const fresh = await openNode([newKey]);
    for (const id of [before.id, ...made]) {
      assert.ok(await fresh.owners.find(id));
      await fresh.keys.list(id);
    }
    await assert.rejects(openNode([oldKey]), /not the one this database was encrypted with/);
    // This server had only the old key: nothing is encrypted with it any longer, and the server reports what it lacks.
    const late = createOwner(first, environment, { name: 'Late', email: null, emailAlerts: false });
    await assert.rejects(late, { name: 'StoreUnavailable' });
    assert.deepEqual(await readdir(dataDir), []);
  });
});

function countVersionNodes(dataDir: string): number {
  const db = new DatabaseSync(join(dataDir, 'tocsin.db'), { readOnly: true, timeout: 5000 });
  const row = db.prepare('SELECT count(*) AS count FROM row_versions').get();
  db.close();
  return Number(row?.count);
}

async function startPostgres(t: TestContext) {
  const server = await Postgres.start(['fsync = off']);
  t.after(() => server.stop());
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-rotation-'));
  t.after(() => rm(dataDir, { recursive: true }));
  const databaseUrl = await server.createDatabase();
  const openNode = async (keys: KeyObject[]): Promise<Store> => {
    const store = await openStore({ dataDir, databaseUrl, masterKey: { keys, file: null } }, 'create');
    t.after(() => store.close());
    return store;
  };
  const query = <Row extends object>(text: string): Promise<Row[]> => server.query<Row>(databaseUrl, text);
  return { openNode, dataDir, query };
}

describe('Rotating under load:', () => {
  test('no request fails, keys created meanwhile work, keys revoked meanwhile stay revoked', async (t) => {
    const installation = await create(t);
    const world = await prepareIn(installation.dataDir, owners, rowsPerOwner);
    const gateway = await installation.serve();
    const load = startLoad(
      t,
      gateway,
      world.keys.map(({ value }) => value),
    );
    await eventually(
      'the load is running',
      10_000,
      () => load.answered(),
      (count) => count > 50,
    );
    const calm = load.lap();
    const startedAt = performance.now();
    const rotation = installation.json<{ version: number; resealed: number }>('master-key', 'rotate');
    const [victim] = world.revocable;
    const revoked = installation.json('key', 'revoke', victim?.id as string);
    const made = createOwnerAndKey(installation);
    const { version, resealed } = await rotation;
    const seconds = (performance.now() - startedAt) / 1000;
    const during = load.lap();
    const { key } = await made;
    await revoked;
    assert.equal(version, 2);
    assert.equal((await notify({ api: gateway.api, key }, { title: 'new' })).body.stored, true);
    await eventually(
      'the revoked key is refused',
      5000,
      () => notify({ api: gateway.api, key: victim?.value as string }, { title: 'revoked' }),
      ({ status }) => status === 401,
    );
    await eventually(
      'the load continues',
      10_000,
      () => load.answered(),
      (count) => count > during.total + 50,
    );
    const failures = await load.stop();
    t.diagnostic(
      `${resealed} values of ${owners} owners with ${owners * rowsPerOwner} rows in ${seconds.toFixed(1)} s`,
    );
    t.diagnostic(
      `p50 ${during.p50} ms, p99 ${during.p99} ms, worst ${during.worst} ms; before the rotation p99 ${calm.p99} ms`,
    );
    assert.deepEqual(failures, []);
    await assertWholeUnder(installation.dataDir, 2, world.keys);
    assert.doesNotMatch(gateway.log, /internal error|not stored/);
  });

  test('killed at any moment, it is finished by the next rotation, and no request fails', async (t) => {
    const installation = await create(t);
    const world = await prepareIn(installation.dataDir, owners, rowsPerOwner);
    const gateway = await installation.serve();
    const load = startLoad(
      t,
      gateway,
      world.keys.map(({ value }) => value),
    );
    const moments: { line: RegExp; ms: number }[] = [
      { line: /new key is in place/, ms: 0 },
      { line: /Servers encrypt with the new key/, ms: 0 },
      { line: /Servers encrypt with the new key/, ms: 5 },
      { line: /Servers encrypt with the new key/, ms: 20 },
      { line: /the old key is retired/, ms: 0 },
    ];
    for (const { line, ms } of moments) {
      await killRotation(installation, line, ms);
      await withStore(installation.dataDir, async (store) => assert.deepEqual(await store.maintenance.verify(), []));
    }
    await installation.json('master-key', 'rotate');
    const status = await installation.json<{ versions: unknown[]; spareKeys: number }>('master-key', 'status');
    assert.equal(status.versions.length, 1);
    assert.equal(status.spareKeys, 0);
    assert.deepEqual(await load.stop(), []);
    const [[version]] = sealedVersions(installation.dataDir) as [[number, number]];
    await assertWholeUnder(installation.dataDir, version, world.keys);
  });
});

interface PreparedKey {
  id: string;
  value: string;
  digest: string;
}

/** Stores by the number of their owners: each is filled once and copied for every test. */
const originals = new Map<number, Promise<{ dataDir: string; keys: PreparedKey[] }>>();
after(async () => {
  for (const original of originals.values()) await rm((await original).dataDir, { recursive: true });
});

async function createOriginal(count: number) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-rotation-'));
  const { keys } = await prepareIn(dataDir, count, 1);
  return { dataDir, keys };
}

async function prepare(t: TestContext, count: number) {
  const original = originals.get(count) ?? createOriginal(count);
  originals.set(count, original);
  const { dataDir: from, keys } = await original;
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-rotation-'));
  t.after(() => rm(dataDir, { recursive: true }));
  await cp(from, dataDir, { recursive: true });
  return { dataDir, keys, ids: keys.map(({ id }) => id) };
}

/** A store whose old key is retired and not dropped yet. */
async function prepareInterrupted(t: TestContext) {
  const { dataDir } = await prepare(t, 1);
  const keyFile = join(dataDir, 'master.key');
  const oldKey = await readFile(keyFile, 'utf8');
  await withStore(dataDir, (store) => store.masterKeys.rotate());
  const newKey = await readFile(keyFile, 'utf8');
  await writeFile(keyFile, newKey + oldKey);
  return { dataDir, oldKey, newKey };
}

/** Creates owners with a key and some rows each, and a service secret, directly through the store. */
async function prepareIn(dataDir: string, count: number, rows: number) {
  const store = await openStore({ dataDir, masterKey: null }, 'create');
  const newId = createUuidV7Source(Date.now, randomUUID);
  const keys: PreparedKey[] = [];
  const one = async (index: number): Promise<void> => {
    const owner = await createOwner(store, environment, { name: `Owner ${index}`, email: null, emailAlerts: false });
    const { key, value } = await createKey(store, environment, { ownerId: owner.id, type: 'public_client' });
    keys.push({ id: key.id, value, digest: key.digest });
    await Promise.all(
      Array.from({ length: rows }, () =>
        store.notifications.save({
          id: newId(),
          ownerId: owner.id,
          createdAt: Date.now(),
          content: sampleContent({ title: 'stored' }),
        }),
      ),
    );
  };
  const together = 40;
  for (let from = 0; from < count; from += together) {
    await Promise.all(Array.from({ length: Math.min(together, count - from) }, (_, index) => one(from + index)));
  }
  await store.secrets.obtain('test_secret', () => 'of the service');
  // A spare key for a test that revokes one.
  const [spare] = await store.owners.list();
  const extra =
    count > 20 ? await createKey(store, environment, { ownerId: spare?.id as string, type: 'public_client' }) : null;
  await store.close();
  return { keys, revocable: extra === null ? [] : [{ id: extra.key.id, value: extra.value }] };
}

async function open(t: TestContext, dataDir: string): Promise<Store> {
  const store = await openStore({ dataDir, masterKey: null }, 'existing');
  t.after(() => store.close());
  return store;
}

async function withStore<T>(dataDir: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({ dataDir, masterKey: null }, 'existing');
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

function openWith(dataDir: string, key: string): Promise<Store> {
  const keys = parseMasterKeys(key) ?? [createSecretKey(Buffer.alloc(32))];
  return openStore({ dataDir, masterKey: { keys, file: null } }, 'existing');
}

/** A database that runs a callback before each write. */
function interfering(file: string, before: (sql: string) => Promise<void>): Database {
  const database = createSqliteDatabase(file);
  return {
    ...database,
    write: async (queries) => {
      for (const { sql } of queries) await before(sql);
      return database.write(queries);
    },
  };
}

async function assertAllOpen(store: Store, keys: readonly PreparedKey[]): Promise<void> {
  for (const { digest } of keys) {
    const key = await store.keys.find(digest);
    assert.ok(key);
    const { notifications, damaged } = await store.notifications.list(key.ownerId, { limit: 1 });
    assert.deepEqual([notifications.length, damaged.length], [1, 0]);
  }
  assert.equal(await store.secrets.obtain('test_secret', () => 'created again'), 'of the service');
}

async function assertWholeUnder(dataDir: string, version: number, keys: readonly PreparedKey[]) {
  assert.deepEqual(
    sealedVersions(dataDir).map(([each]) => each),
    [version],
  );
  await withStore(dataDir, async (store) => {
    assert.deepEqual(await store.maintenance.verify(), []);
    await assertAllOpen(store, keys);
  });
}

/** The number of values per version of the master key. */
function sealedVersions(dataDir: string): [version: number, values: number][] {
  const db = new DatabaseSync(join(dataDir, 'tocsin.db'), { readOnly: true });
  try {
    const values = db
      .prepare(
        "SELECT '' AS name, wrapped AS value FROM data_keys UNION ALL SELECT '', sealed FROM api_keys " +
          "UNION ALL SELECT '', sealed FROM row_versions UNION ALL SELECT name, value FROM meta",
      )
      .all() as { name: string; value: Uint8Array }[];
    const counts = new Map<number, number>();
    for (const { value } of values.filter(({ name }) => !isPlaintext(name))) {
      const version = Buffer.from(value).readUInt16BE(1);
      counts.set(version, (counts.get(version) ?? 0) + 1);
    }
    return [...counts];
  } finally {
    db.close();
  }
}

async function snapshot(dataDir: string): Promise<Record<string, unknown>> {
  const db = new DatabaseSync(join(dataDir, 'tocsin.db'), { readOnly: true });
  try {
    const tables = ['meta', 'data_keys', 'api_keys', 'owners', 'changes'];
    const rows = Object.fromEntries(tables.map((table) => [table, db.prepare(`SELECT * FROM ${table}`).all()]));
    return { ...rows, key: await readFile(join(dataDir, 'master.key'), 'utf8') };
  } finally {
    db.close();
  }
}

async function create(t: TestContext, environment: Record<string, string> = {}): Promise<Installation> {
  const installation = await install(t, { TOCSIN_FIRST_RUN: 'off', ...environment });
  return installation;
}

async function createOwnerAndKey(installation: Installation): Promise<{ key: string }> {
  const { id } = await installation.json('owner', 'create', '--name', 'Created by the CLI');
  return installation.json<{ key: string }>('key', 'create', '--owner', id as string);
}

/** Kills the command this long after it has printed this line; it may have exited by then. */
async function killRotation(installation: Installation, line: RegExp, afterMs: number): Promise<void> {
  const child = spawn(process.execPath, [launcher, 'master-key', 'rotate'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...installation.environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  let output = '';
  const hasSaid = new Promise<void>((resolve) => {
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (line.test(output)) resolve();
    });
  });
  const [exitCode] = (await Promise.race([hasSaid, ended])) ?? [];
  if (exitCode === 0 && !line.test(output)) {
    // The previous run was killed at its very end; only the old key was left to drop.
    assert.match(output, /the old key is retired/);
    return killRotation(installation, line, afterMs);
  }
  assert.match(output, line);
  if (afterMs > 0) await delay(afterMs);
  child.kill('SIGKILL');
  await ended;
}

interface Lap {
  total: number;
  p50: string;
  p99: string;
  worst: string;
}

/** Callers that send one request after another, each with the key of a different owner. */
function startLoad(t: TestContext, { api }: GatewayProcess, keys: readonly string[]) {
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const failures: unknown[] = [];
  let times: number[] = [];
  let total = 0;
  const caller = async (first: number): Promise<void> => {
    for (let turn = first; !stopping.signal.aborted; turn += 7) {
      const startedAt = performance.now();
      const { status, body } = await notify({ api, key: keys[turn % keys.length] as string }, { title: 'load' });
      times.push(performance.now() - startedAt);
      total += 1;
      if (status !== 200 || !body.stored) failures.push({ status, body });
      await pauseBetweenRequests();
    }
  };
  const callers = Array.from({ length: 8 }, (_, index) => caller(index * 1009));
  return {
    answered: () => total,
    lap: (): Lap => {
      const sorted = times.toSorted((one, other) => one - other);
      const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
      times = [];
      return { total, p50: at(0.5), p99: at(0.99), worst: (sorted.at(-1) ?? 0).toFixed(1) };
    },
    stop: async (): Promise<unknown[]> => {
      stopping.abort();
      await Promise.all(callers);
      return failures;
    },
  };
}
