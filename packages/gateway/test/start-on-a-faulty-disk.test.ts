// A start on a disk that is full or read-only, or without permission to write or to open files: the advice fits the cause,
// no restore is suggested without need, and on a full disk the server serves what it can.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type CommandResult, type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { serveExpectingFailure } from '@tocsin/test-support/refusal-to-start.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun, type Obstacle, obstacleIn } from '@tocsin/test-support/requires.ts';
import mqtt from 'mqtt';

function rootObstacle(): Obstacle {
  return process.getuid?.() === 0 ? null : 'only root can mount file systems and be another user';
}

/** An installation on its own file system of 6 MB; null if none can be mounted and the test was skipped. */
async function installOnSmallDisk(t: TestContext): Promise<Installation | null> {
  const installation = await Installation.create();
  const mounted = obstacleIn('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', installation.dataDir]);
  t.after(async () => {
    await installation.remove().catch(() => undefined);
    if (mounted === null) spawnSync('umount', ['--lazy', installation.dataDir]);
    await installation.remove();
  });
  return canRun(t, mounted) ? installation : null;
}

/** Fills the disk to the last byte. */
function fillDisk({ dataDir }: Installation, name = 'ballast'): string {
  const file = join(dataDir, name);
  const handle = openSync(file, 'w');
  try {
    for (const size of [65_536, 4096, 1]) {
      try {
        for (;;) writeSync(handle, Buffer.alloc(size));
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
      }
    }
  } finally {
    closeSync(handle);
  }
  return file;
}

function assertAdvice({ exitCode, stdout, stderr }: CommandResult, wanted: RegExp): void {
  assert.equal(exitCode, 1, `${stdout}${stderr}`);
  assert.match(stderr, wanted);
  assert.doesNotMatch(stderr, /backup/, 'nothing has to be restored');
  assert.doesNotMatch(stderr, /\n {4}at /, 'no stack trace');
}

async function readiness({ line }: GatewayProcess): Promise<number> {
  return (await fetch(new URL('/readyz', line.console))).status;
}

for (const ending of ['stop', 'kill'] as const) {
  test(`A server that is started on a full disk (after a ${ending}) serves, reports that it stores nothing, and recovers by itself`, async (t) => {
    const installation = await installOnSmallDisk(t);
    if (installation === null) return;
    const first = await installation.serve();
    const { key } = first;
    const { device } = first.line.firstRun ?? assert.fail();
    assert.equal((await notify(first, { title: 'before' })).body.stored, true);
    await first[ending]();
    const ballast = [fillDisk(installation)];

    const gateway = await installation.serve();
    assert.match(
      gateway.log,
      /the disk is full: notifications are delivered but not stored until there is space again/,
    );
    assert.doesNotMatch(gateway.log, /could not be locked/);
    assert.match((await serveExpectingFailure(installation)).stderr, /^Another Tocsin server/);
    // The start may have freed some space by truncating the write-ahead log.
    ballast.push(fillDisk(installation, 'more ballast'));
    await eventually(
      'it is not ready',
      20_000,
      () => readiness(gateway),
      (code) => code === 503,
    );
    const client = mqtt.connect(gateway.line.mqtt ?? '', {
      username: device.id,
      password: device.mqtt.password,
      protocolVersion: 4,
    });
    t.after(() => client.end(true));
    const received: string[] = [];
    client.on('message', (_topic, payload) =>
      received.push((JSON.parse(payload.toString()) as { title: string }).title),
    );
    await eventually('the device is connected', 20_000, () => client.connected, Boolean);
    await client.subscribeAsync(device.mqtt.topic, { qos: 0 });
    const { status, body } = await notify({ api: gateway.api, key }, { title: 'while full' });
    assert.equal(status, 200);
    assert.deepEqual([body.stored, body.storeReason], [false, 'store_unavailable']);
    await eventually(
      'channels run',
      20_000,
      () => received,
      (titles) => titles.includes('while full'),
    );

    for (const file of ballast) rmSync(file);
    const stored = () => notify({ api: gateway.api, key }, { title: 'after' });
    await eventually('writes succeed again', 20_000, stored, (answer) => answer.body.stored);
    await eventually(
      'it is ready again',
      20_000,
      () => readiness(gateway),
      (code) => code === 200,
    );
    assert.equal(await gateway.stop(), 0);
    assert.doesNotMatch(gateway.log, /damaged/, 'a full disk is not reported as a damaged database');
    const inbox = await installation.json<{ title: string }[]>('inbox', 'list');
    const titles = new Set(inbox.map(({ title }) => title));
    assert.ok(titles.has('before') && titles.has('after') && !titles.has('while full'));
  });
}

test('A first start on a full disk is refused, and the message says what to do', async (t) => {
  const installation = await installOnSmallDisk(t);
  if (installation === null) return;
  const ballast = fillDisk(installation);
  assertAdvice(await serveExpectingFailure(installation), /is full\. Free some space; no restore is needed\./);
  rmSync(ballast);
  const gateway = await installation.serve();
  assert.ok(gateway.line.firstRun);
  assert.equal(await gateway.stop(), 0);
});

test('A data directory that is mounted read-only is reported as such', async (t) => {
  const installation = await installOnSmallDisk(t);
  if (installation === null) return;
  await (await installation.serve()).stop();
  assert.equal(spawnSync('mount', ['-o', 'remount,ro', installation.dataDir]).status, 0);
  assertAdvice(await serveExpectingFailure(installation), /is on a read-only file system\. Remount it read-write/);
  assert.equal(spawnSync('mount', ['-o', 'remount,rw', installation.dataDir]).status, 0);
});

test('Files of another user are reported as a permission problem', async (t) => {
  if (!canRun(t, rootObstacle())) return;
  const installation = await install(t);
  await (await installation.serve()).stop();
  chmodSync(installation.dataDir, 0o755);
  for (const name of readdirSync(installation.dataDir)) chmodSync(join(installation.dataDir, name), 0o644);
  const asOtherUser = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
  assertAdvice(
    await serveExpectingFailure(installation, {}, asOtherUser),
    /Permission denied: this user cannot write to .*or change their owner \(chown\)/,
  );
});

test('A limit on open files that is too low is reported at the start', async (t) => {
  const installation = await install(t);
  await (await installation.serve()).stop();
  let named = 0;
  for (const limit of [24, 28, 32, 36, 40, 44]) {
    const result = await serveExpectingFailure(installation, {}, ['sh', '-c', `ulimit -n ${limit}; exec "$@"`, 'sh']);
    // Node itself may fail before our program starts.
    if (result.stdout !== '' || result.stderr === '') continue;
    assertAdvice(result, /Too many open files\. Raise the limit: LimitNOFILE=/);
    named += 1;
  }
  assert.ok(named > 0, 'no limit was too low');
});

test('A backup onto a full disk leaves no partial file', async (t) => {
  const disk = await installOnSmallDisk(t);
  if (disk === null) return;
  const installation = await install(t);
  await installation.json('owner', 'create', '--name', 'Ann');
  const folder = join(disk.dataDir, 'backups');
  mkdirSync(folder);
  writeFileSync(join(folder, 'other'), '');
  fillDisk(disk);
  const { exitCode, stderr } = await installation.run(['backup', join(folder, 'backup.db')]);
  assert.equal(exitCode, 1);
  assert.match(stderr, /backup\.db(\.part)? (could not|cannot) be written: .*full/);
  assert.deepEqual(readdirSync(folder), ['other']);
});
