// The master key, and a database that cannot be opened: the gateway refuses to start and reports what to do.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { CommandResult, Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { serveExpectingFailure } from '@tocsin/test-support/refusal-to-start.ts';
import { notify } from '@tocsin/test-support/requests.ts';

const key = randomBytes(32).toString('base64');
const otherKey = randomBytes(32).toString('hex');

describe('The master key:', () => {
  test('the first start creates a key file that only its owner can read, and later starts use it', async (t) => {
    const installation = await install(t);
    await storeOne(installation);
    const file = join(installation.dataDir, 'master.key');
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const before = await readFile(file, 'utf8');
    assert.deepEqual(await titles(installation), ['stored']);
    assert.equal(await readFile(file, 'utf8'), before);
  });

  test('a key from the environment is used, and no key file is created', async (t) => {
    const installation = await install(t, { TOCSIN_MASTER_KEY: key });
    await storeOne(installation);
    assert.deepEqual(await titles(installation), ['stored']);
    assert.ok(!(await readdir(installation.dataDir)).includes('master.key'));
  });

  test('TOCSIN_MASTER_KEY_FILE is equivalent to the variable', async (t) => {
    const installation = await install(t, { TOCSIN_MASTER_KEY: key });
    await storeOne(installation);
    const file = join(installation.dataDir, 'elsewhere.key');
    await writeFile(file, `${Buffer.from(key, 'base64').toString('hex')}\n`);
    const listed = await installation.run(['inbox', 'list'], { TOCSIN_MASTER_KEY: '', TOCSIN_MASTER_KEY_FILE: file });
    assert.equal(listed.exitCode, 0, listed.stderr);
    assert.match(listed.stdout, /stored/);
  });

  test('a key other than the one that encrypted the database stops the start', async (t) => {
    const installation = await install(t, { TOCSIN_MASTER_KEY: key });
    await storeOne(installation);
    const result = await serveExpectingFailure(installation, { TOCSIN_MASTER_KEY: otherKey });
    assertRefusal(result, /not the one this database was encrypted with.*Check TOCSIN_MASTER_KEY/s);
    assert.deepEqual(await titles(installation), ['stored'], 'with the right key all data is unchanged');
  });

  test('a lost key file stops the start, and no new one is created in its place', async (t) => {
    const installation = await install(t);
    await storeOne(installation);
    const file = join(installation.dataDir, 'master.key');
    const kept = await readFile(file);
    await rm(file);
    assertRefusal(await serveExpectingFailure(installation), /no master key.*backup.*TOCSIN_MASTER_KEY/s);
    assert.ok(!(await readdir(installation.dataDir)).includes('master.key'));
    await writeFile(file, kept, { mode: 0o600 });
    assert.deepEqual(await titles(installation), ['stored'], 'with the file restored all data is unchanged');
  });

  test('a key file with other content stops the start', async (t) => {
    const installation = await install(t);
    await storeOne(installation);
    await writeFile(join(installation.dataDir, 'master.key'), 'not a key\n');
    assertRefusal(await serveExpectingFailure(installation), /master\.key does not hold a master key/);
  });

  const file = '/nowhere/master.key';
  const problems: { what: string; environment: Record<string, string>; message: RegExp }[] = [
    {
      what: 'the variable together with its _FILE variant',
      environment: { TOCSIN_MASTER_KEY: key, TOCSIN_MASTER_KEY_FILE: file },
      message: /Set TOCSIN_MASTER_KEY or TOCSIN_MASTER_KEY_FILE, not both/,
    },
    {
      what: 'a key of the wrong length',
      environment: { TOCSIN_MASTER_KEY: key.slice(4) },
      message: /TOCSIN_MASTER_KEY must be 32 bytes as base64 or hex/,
    },
    {
      what: 'a key file that does not exist',
      environment: { TOCSIN_MASTER_KEY_FILE: file },
      message: /TOCSIN_MASTER_KEY_FILE: .*no such file/,
    },
  ];
  for (const { what, environment, message } of problems) {
    test(`${what} is a configuration error, reported before any file is opened`, async (t) => {
      const installation = await install(t);
      const result = await serveExpectingFailure(installation, environment);
      assertRefusal(result, message);
      assert.match(result.stderr, /The configuration has problems/);
      assert.deepEqual(await readdir(installation.dataDir), []);
    });
  }

  test('doctor warns about a key file that other users can read', async (t) => {
    const installation = await install(t);
    await storeOne(installation);
    await chmod(join(installation.dataDir, 'master.key'), 0o644);
    const { exitCode, stdout } = await installation.run(['doctor']);
    assert.equal(exitCode, 1);
    assert.match(stdout, /FAILED .*chmod 600/);
  });
});

describe('A damaged database file stops the start, and the message names the backup:', () => {
  const damages: { what: string; offset: number; length: number }[] = [
    { what: 'the header overwritten', offset: 0, length: 100 },
    { what: 'the first page overwritten after the header', offset: 100, length: 3996 },
  ];
  for (const { what, offset, length } of damages) {
    test(what, async (t) => {
      const installation = await install(t);
      await storeOne(installation);
      const file = await open(join(installation.dataDir, 'tocsin.db'), 'r+');
      await file.write(Buffer.alloc(length, 0xa5), 0, length, offset);
      await file.close();
      assertRefusal(
        await serveExpectingFailure(installation),
        /tocsin\.db cannot be opened.*restore it from a backup/s,
      );
    });
  }
});

/** Starts the gateway, stores one notification, and stops the gateway cleanly. */
async function storeOne(installation: Installation): Promise<void> {
  const gateway = await installation.serve();
  assert.equal((await notify(gateway, { title: 'stored' })).body.stored, true);
  assert.equal(await gateway.stop(), 0);
}

async function titles(installation: Installation): Promise<string[]> {
  const inbox = await installation.json<{ title: string }[]>('inbox', 'list');
  return inbox.map(({ title }) => title);
}

/** Written for people: one clear message, no stack trace, no key. */
function assertRefusal({ exitCode, stdout, stderr }: CommandResult, message: RegExp): void {
  assert.equal(exitCode, 1, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, message);
  assert.doesNotMatch(stderr, /^ +at /m, 'a stack trace does not help an operator');
  for (const secret of [key, key.slice(4), otherKey]) assert.ok(!stderr.includes(secret), 'the key was printed');
}
