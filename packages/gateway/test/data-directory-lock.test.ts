// One data directory belongs to one server: the second is refused with an explanation, and the lock never outlives its
// holder.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CommandResult } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { serveExpectingFailure } from '@tocsin/test-support/refusal-to-start.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun, obstacleIn } from '@tocsin/test-support/requires.ts';

function assertRefused({ exitCode, stdout, stderr }: CommandResult, pid: number | undefined): void {
  assert.equal(exitCode, 1, `${stdout}${stderr}`);
  assert.equal(stdout, '', 'it never reported that it was ready');
  assert.match(
    stderr,
    new RegExp(`^Another Tocsin server \\(pid ${pid} on ${hostname()}, since [-\\d:.TZ]+\\) is using `),
  );
  assert.match(stderr, /Stop it first, or set TOCSIN_DATA_DIR to another folder\./);
  assert.doesNotMatch(stderr, /\n {4}at /);
}

for (const workers of ['1', '2']) {
  test(`A second server on a data directory is refused with the pid of the first (TOCSIN_WORKERS=${workers})`, async (t) => {
    const installation = await install(t, { TOCSIN_WORKERS: workers });
    const first = await installation.serve();
    assertRefused(await serveExpectingFailure(installation), first.child.pid);
    assertRefused(await serveExpectingFailure(installation), first.child.pid);
    const { body } = await notify(first, { title: 'undisturbed' });
    assert.equal(body.stored, true);
    assert.equal(await first.stop(), 0);
    const next = await installation.serve();
    assert.equal(next.line.firstRun, undefined, 'it is the same store');
    assert.equal(await next.stop(), 0);
  });
}

test('After kill -9 the next server starts, although the recorded pid may belong to another process', async (t) => {
  const installation = await install(t);
  const first = await installation.serve();
  const file = join(installation.dataDir, 'server.pid');
  const noted = JSON.parse(readFileSync(file, 'utf8')) as { pid: number };
  assert.equal(noted.pid, first.child.pid);
  await first.kill();
  // As if the system had reused the pid for another process: this one, which is certainly running.
  writeFileSync(file, JSON.stringify({ ...noted, pid: process.pid }));
  const second = await installation.serve();
  assertRefused(await serveExpectingFailure(installation), second.child.pid);
  assert.equal(await second.stop(), 0);
});

test('Two containers with pid 1 each cannot share a data directory', async (t) => {
  const asPid1 = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
  if (!canRun(t, obstacleIn('unshare', [...asPid1.slice(1), 'true']))) return;
  const installation = await install(t);
  await installation.serve({}, asPid1);
  const { stderr, exitCode } = await serveExpectingFailure(installation);
  assert.equal(exitCode, 1);
  assert.match(stderr, /^Another Tocsin server \(pid 1 on /);
  const { stderr: inContainer } = await serveExpectingFailure(installation, {}, asPid1);
  assert.match(inContainer, /^Another Tocsin server \(pid 1 on /);
});

test('Commands beside a running server need no lock', async (t) => {
  const installation = await install(t);
  const gateway = await installation.serve();
  const { key } = await installation.json<{ key: string }>('key', 'create', '--label', 'beside');
  assert.equal((await notify({ api: gateway.api, key }, { title: 'x' })).status, 200);
  await installation.json('master-key', 'rotate');
  await installation.json('backup', join(installation.dataDir, 'backup.db'));
  const doctor = await installation.run(['doctor']);
  assert.match(doctor.stdout, /ok +store:/);
  const restore = await installation.run(['restore', join(installation.dataDir, 'backup.db'), '--replace']);
  assert.equal(restore.exitCode, 1);
  assert.match(restore.stderr, new RegExp(`^Another Tocsin server \\(pid ${gateway.child.pid} on .*Stop it first`));
  assert.equal(await gateway.stop(), 0);
});
