// Slowloris: thousands of clients that never finish a request do not affect the others, and are disconnected.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { on, once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { install } from '@tocsin/test-support/install.ts';
import { usageOf } from '@tocsin/test-support/process-usage.ts';
import {
  type Style,
  type StyleReport,
  type SwarmOrder,
  type SwarmReport,
  styles,
} from '@tocsin/test-support/slow-client-swarm.ts';
import { describeTimes, measureRequests } from '@tocsin/test-support/steady-caller.ts';

const wantedSockets = 10_000;
/** Headers have 10 s and requests 15 s, checked every second; the rest is slack for a busy machine. */
const closedWithinMs = 20_000;
/** Far above the observed growth, far below the cost of keeping the buffers of every socket. */
const sanityMegabytes = 500;

test('Thousands of clients that never finish a request are refused in time while others are served', async (t) => {
  const sockets = affordableSockets(t);
  // All come from one address, and each is to be refused for being slow.
  const installation = await install(t, { TOCSIN_UNAUTHENTICATED_CONNECTIONS: '0' });
  const gateway = await installation.serve();
  const before = await usageOf(gateway);
  const baseline = await measureRequests(gateway, AbortSignal.timeout(2000));

  const swarm = fork(fileURLToPath(new URL('../../test-support/src/slow-client-swarm.ts', import.meta.url)), {
    execArgv: [],
  });
  t.after(() => swarm.kill('SIGKILL'));
  const reports = reportsOf(swarm);
  swarm.send({ port: Number(new URL(gateway.api).port), key: gateway.key, sockets } satisfies SwarmOrder);
  assert.equal((await nextOf(reports)).event, 'open');
  const held = await eventually(
    'the gateway holds all slow connections',
    5000,
    () => usageOf(gateway),
    (now) => now.sockets >= sockets,
  );
  const allClosed = new AbortController();
  const served = measureRequests(gateway, allClosed.signal);
  const report = await nextOf(reports);
  allClosed.abort();
  const meanwhile = await served;

  assert.ok(report.event === 'closed');
  for (const style of styles) judge(t, style, report.byStyle[style]);
  assert.ok(meanwhile.statuses.length > 100, 'requests were sent while the slow clients hung');
  assert.deepEqual([...new Set(meanwhile.statuses)], [200]);
  const after = await eventually(
    'the gateway closes the sockets',
    5000,
    () => usageOf(gateway),
    (now) => now.sockets <= before.sockets,
  );
  const growth = after.peakMegabytes - before.megabytes;
  assert.ok(growth < sanityMegabytes, `memory grew by ${growth} MB`);
  t.diagnostic(`without slow clients: ${describeTimes(baseline.times)}`);
  t.diagnostic(`with slow clients: ${describeTimes(meanwhile.times)}`);
  t.diagnostic(
    `memory: ${before.megabytes} MB before, ${held.megabytes} MB with ${held.sockets} sockets, ` +
      `${after.peakMegabytes} MB at most, ${after.megabytes} MB with ${after.sockets} sockets at the end`,
  );
});

test('The console disconnects clients that never finish a request, too', async (t) => {
  const installation = await install(t);
  const gateway = await installation.serve();
  const port = Number(new URL(gateway.line.console).port);
  const startedAt = performance.now();
  const held = ['', 'GET /healthz HTTP/1.1\r\nHost: x\r\n'].map(async (beginning) => {
    const socket = connect({ port, host: '127.0.0.1' });
    t.after(() => socket.destroy());
    socket.write(beginning);
    socket.resume();
    await once(socket, 'close');
    return performance.now() - startedAt;
  });
  for (const ms of await Promise.all(held)) assert.ok(ms <= closedWithinMs, `one was held for ${ms} ms`);
});

function judge(t: TestContext, style: Style, { opened, refusedProperly, improper, longestMs }: StyleReport): void {
  t.diagnostic(
    `${style}: ${opened} opened, ${refusedProperly} got a 408, the last closed after ${longestMs.toFixed()} ms`,
  );
  assert.ok(longestMs <= closedWithinMs, `${style}: one was held for ${longestMs} ms`);
  if (style !== 'silent') assert.equal(refusedProperly, opened, `${style}: ${improper}`);
}

/** Both ends are separate processes, so each needs a descriptor for every connection. */
function affordableSockets(t: TestContext): number {
  const limit = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim();
  const affordable = limit === 'unlimited' ? wantedSockets : Math.min(wantedSockets, Number(limit) - 500);
  if (affordable < wantedSockets) t.diagnostic(`only ${affordable} sockets: the limit of open files is ${limit}`);
  assert.ok(affordable >= 100, `the limit of open files (${limit}) leaves no room for the test`);
  return affordable;
}

async function* reportsOf(swarm: ChildProcess): AsyncGenerator<SwarmReport> {
  for await (const [report] of on(swarm, 'message', { close: ['exit'] })) yield report as SwarmReport;
}

async function nextOf(reports: AsyncGenerator<SwarmReport>): Promise<SwarmReport> {
  const { value, done } = await reports.next();
  assert.ok(done !== true, 'the slow clients ended without a report');
  return value as SwarmReport;
}
