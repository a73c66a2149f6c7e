// Common mistakes of operators are reported in a sentence: what is wrong, where, and what to do.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type CommandResult, type Installation, launcher } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { canRun, obstacleIn } from '@tocsin/test-support/requires.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

function assertSaid({ exitCode, stdout, stderr }: CommandResult, wanted: RegExp): void {
  assert.equal(exitCode, 1, stdout + stderr);
  assert.match(stderr, wanted);
  assert.doesNotMatch(stderr, /\n {4}at |ENOENT|EEXIST|EACCES/, 'neither a stack trace nor a system error code');
}

test('An address that this machine does not have is reported as a problem of TOCSIN_HOST', async (t) => {
  const installation = await install(t);
  for (const host of ['192.0.2.1', 'nowhere.invalid']) {
    const { exitCode, stderr } = await installation.run(['serve'], { TOCSIN_HOST: host });
    assert.equal(exitCode, 1);
    assert.match(
      stderr,
      new RegExp(`^TOCSIN_HOST: this machine cannot listen on ${host} \\(\\w+\\)\\. Set it to`, 'm'),
    );
  }
});

test('A topic prefix that no broker accepts is refused, and one that some accept is not', async (t) => {
  const installation = await install(t);
  const refusalOf = async (prefix: string): Promise<string> => {
    const { stdout } = await installation.run(['doctor'], { TOCSIN_MQTT_TOPIC_PREFIX: prefix });
    return /TOCSIN_MQTT_TOPIC_PREFIX.*/.exec(stdout)?.[0] ?? '';
  };
  for (const prefix of [
    'a b',
    'a+',
    '#',
    '/a',
    'a/',
    '$SYS',
    'a\u0001b',
    'a\u0085b',
    'a\ufffeb',
    'a\ufdd0b',
    'a'.repeat(257),
  ]) {
    assert.match(
      await refusalOf(prefix),
      /a topic of at most 256 bytes without wildcards, spaces/,
      JSON.stringify(prefix),
    );
  }
  for (const prefix of ['acme.eu', 'acme/eu', 'überall', 'a'.repeat(256)]) assert.equal(await refusalOf(prefix), '');
});

test('A data directory that cannot be created ends the start at once', { timeout: 20_000 }, async (t) => {
  const installation = await install(t);
  for (const folder of ['/proc/tocsin', '/proc/tocsin/data', '/dev/null/data']) {
    const refused = await installation.run(['serve'], { TOCSIN_DATA_DIR: folder });
    assertSaid(refused, /^The data directory \/\S+ cannot be created: .*\. Set TOCSIN_DATA_DIR to a folder/m);
  }
});

test('A data directory is created with its parent folders', async (t) => {
  const installation = await install(t);
  const dataDir = join(installation.dataDir, 'some', 'where');
  const made = await installation.run(['owner', 'create', '--name', 'Ann'], { TOCSIN_DATA_DIR: dataDir });
  assert.equal(made.exitCode, 0, made.stderr);
});

test('Data of another user is not reported as missing', async (t) => {
  const isRoot = process.getuid?.() === 0;
  const asOtherUser = isRoot ? ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'] : ['env'];
  const [command = '', ...wrapper] = asOtherUser;
  if (!canRun(t, obstacleIn(command, [...wrapper, process.execPath, launcher, '--version']))) return;
  const installation = await install(t);
  await installation.json('owner', 'create', '--name', 'Ann');
  // The folder of root is already inaccessible to other users; for a normal user the test must remove the permission.
  if (!isRoot) await chmod(installation.dataDir, 0);
  const wanted = /\S+ cannot be read by this user\. Run this as the user that runs the server\./;
  for (const args of [['owner', 'list'], ['backup', join(tmpdir(), 'tocsin-test-never.db')], ['doctor']]) {
    const { stdout, stderr, status } = spawnSync(command, [...wrapper, process.execPath, launcher, ...args], {
      encoding: 'utf8',
      env: { ...process.env, ...installation.environment },
    });
    assert.equal(status, 1, stdout + stderr);
    assert.match(stdout + stderr, wanted);
    assert.doesNotMatch(stdout + stderr, /no Tocsin data|no database|\n {4}at /);
  }
  await chmod(installation.dataDir, 0o700);
});

test('A missing file is named without a system error code', async (t) => {
  const installation = await install(t);
  await installation.json('owner', 'create', '--name', 'Ann');
  const tls = { TOCSIN_TLS_CERT: '/nowhere/cert.pem', TOCSIN_TLS_KEY: '/nowhere/key.pem' };
  const missing = 'no such file or directory\\.';
  assertSaid(
    await installation.run(['serve'], tls),
    new RegExp(`TOCSIN_TLS_CERT: /nowhere/cert\\.pem cannot be read: ${missing}`),
  );
  assertSaid(
    await installation.run(['owner', 'list'], { TOCSIN_MASTER_KEY_FILE: '/nowhere/key' }),
    new RegExp(`- TOCSIN_MASTER_KEY_FILE: /nowhere/key cannot be read: ${missing}`),
  );
  assertSaid(
    await installation.run(['backup', '/nowhere/backup.db']),
    new RegExp(`/nowhere/backup\\.db\\.part cannot be written: ${missing}`),
  );
  const backup = await installation.run(['backup', join(installation.dataDir, 'backup.db')]);
  assert.match(backup.stdout, /: 1 owner, 0 API keys, 0 devices, 0 push targets, 0 notifications; \d+ rows in all\./);
});

test('An unknown parameter of the database URL is refused before any connection', async (t) => {
  const installation = await install(t);
  const url = 'postgres://tocsin:S3cretOfOurs@127.0.0.1:1/tocsin?sslmod=require';
  const refused = await installation.run(['owner', 'list'], { TOCSIN_DATABASE_URL: url });
  assertSaid(refused, /- TOCSIN_DATABASE_URL must be a URL such as .*only: sslmode, sslrootcert/);
  const toRefused = await installation.run(['migrate-store', '--to', url]);
  assert.equal(toRefused.exitCode, 2);
  assert.match(toRefused.stderr, /--to must be a URL .*sslmode/);
  for (const { stderr } of [refused, toRefused]) assert.doesNotMatch(stderr, /S3cretOfOurs/);
});

test('A database that migrate-store cannot reach is reported as a problem of --to', async (t) => {
  const installation = await install(t);
  await installation.json('owner', 'create', '--name', 'Ann');
  const { exitCode, stderr } = await installation.run([
    'migrate-store',
    '--to',
    'postgres://tocsin@127.0.0.1:1/tocsin',
  ]);
  assert.equal(exitCode, 1);
  assert.match(stderr, /cannot be reached: .*that --to has its host and port/);
});

test('A backup from before a rotation can be restored with the old key appended to the current one', async (t) => {
  const [installation, another] = [await install(t), await install(t)];
  await installation.json('owner', 'create', '--name', 'Ann');
  const [backup, oldKey] = ['backup.db', 'old.key'].map((name) => join(another.dataDir, name)) as [string, string];
  await installation.json('backup', backup);
  await installation.json('master-key', 'rotate', '--old-key-to', oldKey);
  const refused = await installation.run(['restore', backup, '--replace']);
  assertSaid(refused, /backup\.db was encrypted with a master key that is not in .*before a rotation, add the old key/);
  const keyFile = join(installation.dataDir, 'master.key');
  assert.equal(spawnSync('sh', ['-c', `cat "${oldKey}" >> "${keyFile}"`]).status, 0);
  await installation.json('restore', backup, '--replace');
  assert.deepEqual(
    (await installation.json<{ name: string }[]>('owner', 'list')).map(({ name }) => name),
    ['Ann'],
  );
});

test('doctor reports no address for a broker on a random port', async (t) => {
  const installation = await install(t);
  const gateway = await installation.serve();
  const port = new URL(gateway.line.console).port;
  const asked = await installation.run(['doctor'], { TOCSIN_CONSOLE_PORT: port });
  assert.match(asked.stdout, /ok +mqtt: the embedded broker is running on a random port/);
  const unasked = await installation.run(['doctor']);
  assert.match(unasked.stdout, /warning +mqtt: .*cannot be checked, since TOCSIN_CONSOLE_PORT is 0/);
  assert.doesNotMatch(asked.stdout + unasked.stdout, /null/);
});

/** Runs a command on its own terminal, and types. */
async function type(installation: Installation, args: string[], keys: string) {
  const command = [process.execPath, launcher, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { ...process.env, ...installation.environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let seen = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (!seen.includes('to confirm: ') && (seen + chunk).includes('to confirm: ')) child.stdin.write(keys);
    seen += chunk;
  });
  const [exitCode] = await once(child, 'exit');
  return { exitCode: exitCode as number, seen };
}

test('An owner is deleted on a terminal only after typing their name, or with --yes', async (t) => {
  if (!canRun(t, obstacleIn('script', ['--quiet', '--return', '--command', 'true', '/dev/null']))) return;
  const installation = await install(t);
  const { id = '' } = await installation.json('owner', 'create', '--name', 'Ann');
  for (const keys of ['y\n', '\u0003', '\u0004']) {
    const kept = await type(installation, ['owner', 'delete', id], keys);
    assert.match(kept.seen, new RegExp(`This deletes Ann \\(${id}\\) and all their data`));
    assert.match(kept.seen, /Nothing was deleted\./);
    assert.equal(kept.exitCode, 1);
  }
  assert.equal((await installation.json<unknown[]>('owner', 'list')).length, 1);
  assert.match((await type(installation, ['owner', 'delete', id], 'Ann\n')).seen, /Deleted owner/);
  const { id: second = '' } = await installation.json('owner', 'create', '--name', 'Bob');
  assert.match((await type(installation, ['owner', 'delete', second, '--yes'], '')).seen, /^Deleted owner/);
});

test('The scripts for contributors have a --help', async () => {
  for (const [file, wanted] of [
    ['bench/run.ts', /^Usage: npm run bench .*--rounds N/s],
    ['scripts/torture.mjs', /^Usage: npm run torture/],
  ] as const) {
    const { status, stdout } = spawnSync(process.execPath, [join(root, file), '--help'], { encoding: 'utf8' });
    assert.equal(status, 0);
    assert.match(stdout, wanted);
  }
});

test('doctor warns about an unencrypted connection to PostgreSQL, except on this machine', async (t) => {
  const installation = await install(t);
  const warns = async (url: string): Promise<boolean> => {
    const { stdout } = await installation.run(['doctor', '--json'], { TOCSIN_DATABASE_URL: url });
    const { findings } = JSON.parse(stdout) as { findings: { check: string; state: string }[] };
    return findings.some(({ check, state }) => check === 'database connection' && state === 'warning');
  };
  // No server listens on this port: only the address is checked.
  assert.equal(await warns('postgres://u:p@db.invalid:9/x'), true);
  assert.equal(await warns('postgres://u:p@db.invalid:9/x?sslmode=disable'), true);
  assert.equal(await warns('postgres://u:p@db.invalid:9/x?sslmode=verify-full'), false);
  assert.equal(await warns('postgres://u:p@127.0.0.1:9/x'), false);
});
