import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The log of a process that runs this body with `log` and `StoreUnavailable` in scope. */
async function logOf(
  body: string,
): Promise<{ level: number; msg: string; cause?: string; channel?: string; count?: number }[]> {
  const script = `
    const { createLog } = await import(${JSON.stringify(new URL('./log.ts', import.meta.url).href)});
    const { StoreUnavailable } = await import(${JSON.stringify(new URL('../usecases/ports/index.ts', import.meta.url).href)});
    const log = createLog('info');
    ${body}
    await log.flush();`;
  const { stderr } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  const lines = stderr.trim().split('\n');
  return lines.map((line) => JSON.parse(line) as { level: number; msg: string });
}

test('A store that stays unavailable is logged once, and every other error each time', async () => {
  const lines = await logOf(`
    for (let count = 0; count < 5; count += 1) log.redeliveryFailed(new StoreUnavailable('disk full'));
    for (let count = 0; count < 2; count += 1) log.redeliveryFailed(new Error('a fault'));`);
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['redelivery waits for the store', 'redelivery failed', 'redelivery failed'],
  );
  assert.equal(lines[0]?.cause, 'disk full');
});

test('A channel that goes down or recovers is logged once, however often it is probed in between', async () => {
  const lines = await logOf(`
    log.guardState('mqtt', 'closed', '');
    for (const state of ['open', 'half_open', 'open', 'half_open', 'closed', 'closed', 'open'])
      log.guardState('email', state, 'The SMTP server cannot be reached (ECONNREFUSED)');`);
  assert.deepEqual(
    lines.map(({ level, msg, channel }) => [level, msg, channel]),
    [
      [40, 'email channel down; deliveries are queued for retry', 'email'],
      [30, 'email channel recovered', 'email'],
      [40, 'email channel down; deliveries are queued for retry', 'email'],
    ],
  );
  assert.equal(lines[0]?.cause, 'The SMTP server cannot be reached (ECONNREFUSED)');
});

test('A text log line is one line without control characters', async () => {
  const script = `
    const { createLog } = await import(${JSON.stringify(new URL('./log.ts', import.meta.url).href)});
    for (const isForPeople of [true, false]) {
      const log = createLog('info', isForPeople);
      log.oidcFailed('a\\u001b[2J\\nb\\u009b2J\\u202ec');
      await log.flush();
    }`;
  const { stderr } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  const [forPeople = '', json = '', ...rest] = stderr.trimEnd().split('\n');
  assert.deepEqual(rest, []);
  for (const line of [forPeople, json]) assert.doesNotMatch(line, /[\p{Cc}\u202a-\u202e]/u);
  assert.match(forPeople, /cause=a\ufffd\[2J\ufffdb\ufffd2J\ufffdc/);
  assert.equal((JSON.parse(json) as { cause: string }).cause, 'a\u001b[2J\nb\u009b2J\u202ec');
});

test('A store that fails all saves is one line, and a count of notifications that were not stored', async () => {
  const lines = await logOf(`
    for (let count = 0; count < 500; count += 1)
      log.storeFailed({ requestId: 'req_' + count, reason: 'store_unavailable', error: new StoreUnavailable('disk full') });
    log.storeFailed({ requestId: 'req_x', reason: 'encryption_key_missing', error: new Error('no key') });`);
  assert.deepEqual(
    lines.map(({ msg, cause, ...more }) => [msg, cause, (more as { count?: number }).count]),
    [
      ['notification not stored', 'disk full', undefined],
      ['notification not stored', 'no key', undefined],
      ['notifications not stored', 'disk full', 499],
    ],
  );
});

test('Repeated internal errors and failures of shared quotas are one line each, and a count of the others', async () => {
  const lines = await logOf(`
    const error = new Error('a fault');
    for (let count = 0; count < 5; count += 1) log.failed({ requestId: 'r', error });
    for (let count = 0; count < 2; count += 1) log.quotaNotCounted(new Error('disk full'));`);
  assert.deepEqual(
    lines.map(({ msg, count }) => [msg, count]),
    [
      ['internal error', undefined],
      ['quotas fell back to per-process counting', undefined],
      ['internal error occurred 4 more times', 4],
      ['quotas fell back to per-process counting 1 more time', 1],
    ],
  );
});
