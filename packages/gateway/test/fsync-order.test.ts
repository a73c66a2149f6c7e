// kill -9 cannot distinguish a late fsync from a missing one, because the page cache survives it. The order of the
// system calls can.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Installation } from '@tocsin/test-support/gateway-process.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun, straceObstacle } from '@tocsin/test-support/requires.ts';
import { readTrace, type SystemCall } from '@tocsin/test-support/system-calls.ts';

const notifications = 5;

test('A response is sent only after the row has been written to the write-ahead log and synced', async (t) => {
  if (!canRun(t, straceObstacle())) return;
  const calls = readTrace(await traceNotifications(t));
  const isLog = ({ text }: SystemCall): boolean => text.includes('tocsin.db-wal>');
  const answers = calls.filter(({ name, text }) => name !== 'pwrite64' && text.includes('"HTTP/1.1 200'));
  assert.equal(answers.length, notifications, 'every response is in the trace');
  let previousAnswer = -1;
  for (const answer of answers) {
    const before = calls.filter(
      (call) => isLog(call) && call.beganAt > previousAnswer && call.beganAt < answer.beganAt,
    );
    const lastWrite = before.findLast(({ name }) => name === 'pwrite64');
    assert.ok(lastWrite, 'nothing was written to the log before the response');
    const sync = before.find(
      ({ name, beganAt, endedAt, result }) =>
        ['fsync', 'fdatasync'].includes(name) &&
        beganAt > lastWrite.endedAt &&
        endedAt < answer.beganAt &&
        result === 0,
    );
    assert.ok(sync, `no sync of the log ended between the last write to it and the response:\n${describe(before)}`);
    previousAnswer = answer.beganAt;
  }
});

/** Sends one request after another, so that each response has its own writes. */
async function traceNotifications(t: TestContext): Promise<string> {
  const installation = await Installation.create();
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-trace-'));
  const traceFile = join(folder, 'trace');
  let service: number | undefined;
  t.after(async () => {
    // A killed strace leaves its child running, so the child is stopped first.
    if (service !== undefined) process.kill(service, 'SIGKILL');
    await installation.remove();
    await rm(folder, { recursive: true });
  });
  const traced = 'trace=fsync,fdatasync,pwrite64,write,writev,sendto,sendmsg';
  const wrapper = ['strace', '-f', '--seccomp-bpf', '-yy', '-s', '32', '-e', traced, '-o', traceFile];
  const gateway = await installation.serve({}, wrapper);
  service = Number.parseInt(await readFile(traceFile, 'utf8'), 10);
  for (let count = 0; count < notifications; count += 1) {
    // Without delivery: the outcome of a dispatch is written in the background, which could happen between the sync and
    // a response.
    const { body } = await notify(gateway, { title: `notification ${count}`, sendMqtt: false });
    assert.equal(body.stored, true);
  }
  process.kill(service, 'SIGTERM');
  const [exitCode] = await once(gateway.child, 'exit');
  service = undefined;
  assert.equal(exitCode, 0);
  return readFile(traceFile, 'utf8');
}

function describe(calls: SystemCall[]): string {
  return calls.map(({ name, text, result }) => `${name}(${text.slice(0, 120)}) = ${result}`).join('\n');
}
