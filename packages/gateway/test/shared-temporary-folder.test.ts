// The temporary folder of a machine is shared by all of its users. Nothing that is executed or trusted is read from it: a
// user who plants files there must not run code as the service.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { currentBuild } from '@tocsin/test-support/build.ts';
import { launcher } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { canRun, type Obstacle, straceObstacle } from '@tocsin/test-support/requires.ts';
import { readTrace } from '@tocsin/test-support/system-calls.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** The user id of the attacker. */
const otherUid = 65_534;

interface Machine {
  /** The value of HOME. */
  home: string;
  /** Shared by all users, like /tmp. */
  temporary: string;
}

function createMachine(t: TestContext): Machine {
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [home, temporary] = [join(folder, 'home'), join(folder, 'temporary')];
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(temporary);
  chmodSync(temporary, 0o1777);
  return { home, temporary };
}

/** Runs a command as a user with an empty cache, without the variables of the test run. */
function runCommand({ home, temporary }: Machine, environment: Record<string, string> = {}): void {
  const { status, stderr } = spawnSync(process.execPath, [launcher, '--help'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: home, TMPDIR: temporary, ...environment },
  });
  assert.equal(status, 0, stderr);
}

function everythingIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' });
}

function rootObstacle(): Obstacle {
  return process.getuid?.() === 0 ? null : 'only root can plant files as another user';
}

test('Compiled code is kept in a private folder of the user, and none in the temporary one', (t) => {
  const machine = createMachine(t);
  runCommand(machine);
  assert.ok(everythingIn(join(machine.home, '.cache/tocsin/compiled')).length > 0, 'the cache is in use');
  assert.deepEqual(everythingIn(machine.temporary), []);
});

test('Workers and threads keep compiled code in the same private folder, and none without one', async (t) => {
  const machine = createMachine(t);
  for (const home of [machine.home, '/nonexistent']) {
    const installation = await install(t, { HOME: home, TMPDIR: machine.temporary, TOCSIN_WORKERS: '2' });
    assert.equal(await (await installation.serve()).stop(), 0);
    assert.deepEqual(everythingIn(machine.temporary), [], home);
  }
  assert.deepEqual(readdirSync(join(machine.home, '.cache/tocsin')), ['compiled']);
});

test('A cache folder that another user planted in the temporary folder is not used', (t) => {
  if (!canRun(t, rootObstacle())) return;
  const machine = createMachine(t);
  const planted = join(machine.temporary, 'node-compile-cache');
  mkdirSync(planted);
  chmodSync(planted, 0o777);
  chownSync(planted, otherUid, otherUid);
  runCommand(machine);
  runCommand({ ...machine, home: '/nonexistent' });
  assert.deepEqual(everythingIn(planted), []);
});

/** Each gives another user power over the folder, or over one above it. */
const plants: Record<string, (folders: { home: string; cache: string; elsewhere: string }) => void> = {
  'belongs to another user': ({ cache }) => {
    mkdirSync(cache, { recursive: true });
    chownSync(cache, otherUid, otherUid);
  },
  'is writable by all users': ({ cache }) => {
    mkdirSync(cache, { recursive: true });
    chmodSync(cache, 0o777);
  },
  'is writable by a group': ({ cache }) => {
    mkdirSync(cache, { recursive: true });
    chmodSync(cache, 0o770);
  },
  'is a symbolic link': ({ cache, elsewhere }) => {
    mkdirSync(join(cache, '..'), { recursive: true });
    symlinkSync(elsewhere, cache);
  },
  'lies in a folder of another user': ({ cache }) => {
    mkdirSync(cache, { recursive: true });
    chownSync(join(cache, '..'), otherUid, otherUid);
  },
  'lies in the home of another user, as under sudo': ({ home, cache }) => {
    mkdirSync(cache, { recursive: true });
    chownSync(home, otherUid, otherUid);
  },
};

for (const [what, plant] of Object.entries(plants)) {
  test(`A cache folder that ${what} is not used`, (t) => {
    if (!canRun(t, rootObstacle())) return;
    const machine = createMachine(t);
    const [cache, elsewhere] = [join(machine.home, '.cache/tocsin/compiled'), join(machine.home, 'elsewhere')];
    mkdirSync(elsewhere);
    plant({ home: machine.home, cache, elsewhere });
    runCommand(machine);
    assert.deepEqual(everythingIn(cache), []);
    assert.deepEqual(everythingIn(elsewhere), []);
  });
}

test('Neither the server nor a command opens a file in the temporary folder', async (t) => {
  if (!canRun(t, straceObstacle())) return;
  const machine = createMachine(t);
  const environment = { TMPDIR: machine.temporary, HOME: machine.home };
  const installation = await install(t, environment);
  const trace = join(machine.home, 'trace');
  // With -D signals reach the program, and not strace.
  const strace = ['strace', '-D', '-f', '--seccomp-bpf', '-e', 'trace=openat,open,execve', '-o'];
  const gateway = await installation.serve({}, [...strace, trace]);
  await installation.json('owner', 'list');
  const backup = join(machine.home, 'backup.db');
  const commands = [['doctor'], ['backup', backup], ['restore', backup, '--replace'], ['master-key', 'rotate']];
  await gateway.stop();
  let calls = readTrace(readFileSync(trace, 'utf8'));
  for (const [index, args] of commands.entries()) {
    const file = `${trace}-${index}`;
    const [command = '', ...rest] = [...strace, file, process.execPath, launcher, ...args];
    const { stderr } = spawnSync(command, rest, {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...installation.environment },
    });
    const traced = readTrace(readFileSync(file, 'utf8'));
    assert.ok(
      traced.some(({ text }) => text.includes(join(currentBuild, 'main.js'))),
      `the trace shows what the command opened: ${stderr}`,
    );
    calls = [...calls, ...traced];
  }
  assert.deepEqual(
    calls.filter(({ text }) => text.includes(`${machine.temporary}/`)).map(({ name, text }) => `${name} ${text}`),
    [],
  );
});

test('No source names a file in the temporary folder: files there get a random name, readable by their user only', () => {
  const sources = ['packages/*/{bin,src}/**/*.{ts,js,mjs}', 'scripts/*.mjs'].flatMap((pattern) =>
    globSync(pattern, { cwd: root }).filter((file) => !file.endsWith('.test.ts')),
  );
  assert.ok(sources.length > 200);
  const found = sources.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => /tmpdir\(\)|TMPDIR|['"`]\/(var\/)?tmp\b/.test(line) && !/\bmkdtemp(Sync)?\(/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  assert.deepEqual(found, []);
});
