// Slowloris: thousands of clients that never get to the end of a request cost the others nothing, and are let go of.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { on, once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Connections } from './support/connections.ts';
import { eventually } from './support/eventually.ts';
import { type GatewayProcess, Installation } from './support/gateway-process.ts';
import {
  type Style,
  type StyleReport,
  type SwarmOrder,
  type SwarmReport,
  styles,
} from './support/slow-client-swarm.ts';

const wantedSockets = 10_000;
/** Headers have 10 s and requests 15 s, looked at every second; the rest is room for a busy machine. */
const closedWithinMs = 20_000;
/** Far above what is seen, far below what holding on to every socket's buffers would cost. */
const sanityMegabytes = 500;
const requestEveryMs = 10;

test('Thousands of clients that never finish a request are refused in time while others are served', async (t) => {
  const sockets = affordableSockets(t);
  const installation = await Installation.create();
  t.after(() => installation.remove());
  const gateway = await installation.serve();
  const before = await usage(gateway);
  const baseline = await measureRequests(gateway, AbortSignal.timeout(2000));

  const swarm = fork(fileURLToPath(new URL('./support/slow-client-swarm.ts', import.meta.url)), { execArgv: [] });
  t.after(() => swarm.kill('SIGKILL'));
  const reports = reportsOf(swarm);
  swarm.send({ port: Number(new URL(gateway.api).port), sockets } satisfies SwarmOrder);
  assert.equal((await nextOf(reports)).event, 'open');
  const held = await eventually(
    'the gateway holds all slow connections',
    5000,
    () => usage(gateway),
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
    'the gateway lets go of the sockets',
    5000,
    () => usage(gateway),
    (now) => now.sockets <= before.sockets,
  );
  const growth = after.peakMegabytes - before.megabytes;
  assert.ok(growth < sanityMegabytes, `memory grew by ${growth} MB`);
  t.diagnostic(`without slow clients: ${describe(baseline.times)}`);
  t.diagnostic(`with slow clients: ${describe(meanwhile.times)}`);
  t.diagnostic(
    `memory: ${before.megabytes} MB before, ${held.megabytes} MB with ${held.sockets} sockets, ` +
      `${after.peakMegabytes} MB at most, ${after.megabytes} MB with ${after.sockets} sockets at the end`,
  );
});

test('The console lets go of clients that never finish a request, too', async (t) => {
  const installation = await Installation.create();
  t.after(() => installation.remove());
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

/** Both ends are processes of their own, so each needs a descriptor for every connection. */
function affordableSockets(t: TestContext): number {
  const limit = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim();
  const affordable = limit === 'unlimited' ? wantedSockets : Math.min(wantedSockets, Number(limit) - 500);
  if (affordable < wantedSockets) t.diagnostic(`only ${affordable} sockets: the limit of open files is ${limit}`);
  assert.ok(affordable >= 100, `the limit of open files (${limit}) leaves no room for the test`);
  return affordable;
}

/** One request every few milliseconds, whether or not the previous was answered, until the signal. */
async function measureRequests(
  gateway: GatewayProcess,
  signal: AbortSignal,
): Promise<{ statuses: number[]; times: number[] }> {
  const connections = new Connections(gateway, 16);
  const requests: Promise<{ status: number; ms: number }>[] = [];
  const start = performance.now();
  while (!signal.aborted) {
    requests.push(timed(connections));
    await delay(Math.max(0, start + requests.length * requestEveryMs - performance.now()));
  }
  const answers = await Promise.all(requests);
  connections.close();
  return { statuses: answers.map(({ status }) => status), times: answers.map(({ ms }) => ms) };
}

function describe(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => sorted[Math.ceil(sorted.length * share) - 1]?.toFixed(1));
  return `${times.length} requests, p50 ${p50} ms, p99 ${p99} ms, ${most} ms at most`;
}

async function timed(connections: Connections): Promise<{ status: number; ms: number }> {
  const startedAt = performance.now();
  const { status } = await connections.notify({ title: 'in between' });
  return { status, ms: performance.now() - startedAt };
}

async function usage({ child: { pid } }: GatewayProcess) {
  const folder = `/proc/${pid}/fd`;
  const targets = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')));
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024);
  return {
    sockets: targets.filter((target) => target.startsWith('socket:')).length,
    megabytes: megabytes('VmRSS'),
    peakMegabytes: megabytes('VmHWM'),
  };
}

async function* reportsOf(swarm: ChildProcess): AsyncGenerator<SwarmReport> {
  for await (const [report] of on(swarm, 'message', { close: ['exit'] })) yield report as SwarmReport;
}

async function nextOf(reports: AsyncGenerator<SwarmReport>): Promise<SwarmReport> {
  const { value, done } = await reports.next();
  assert.ok(done !== true, 'the slow clients ended without a report');
  return value as SwarmReport;
}
