// Clients that send requests and never read, and clients that send without a key: they cost little, and are
// disconnected.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { after, before, suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import type { Attack, HostileOrder, HostileReport } from '@tocsin/test-support/hostile-clients.ts';
import { install } from '@tocsin/test-support/install.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { connectionsTo, usageOf } from '@tocsin/test-support/process-usage.ts';
import { describeTimes, measureRequests } from '@tocsin/test-support/steady-caller.ts';
import { createTestAuthority, type TestAuthority } from '@tocsin/test-support/tls-ca.ts';

const goneWithinMs = 30_000;
const mostMegabytes = 150;
const readBytes = 65_520;
const bodyBytes = 262_143;

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const post = (headers: string): string => `POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const fill = (request: string): string => request.repeat(Math.floor(readBytes / request.length));

const upgrade =
  'GET /mqtt HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n';

/** Frames of a client, masked with zeros. */
const frames = (firstByte: number, payload = ''): string =>
  fill(String.fromCharCode(firstByte, 0x80 | payload.length) + '\0'.repeat(4) + payload);

type Wanted = Omit<Attack, 'port' | 'isSecure'> & { listener: 'api' | 'console' };

/** Each is run separately over plain HTTP, and over TLS with fewer connections, because TLS itself costs more. */
const attacks: Record<string, Wanted[]> = {
  'that pipeline requests and never read': [
    { listener: 'api', connections: 300, opening: fill(get('/')) },
    { listener: 'console', connections: 300, opening: fill(get('/healthz')) },
  ],
  'that pipeline endlessly and never read': [
    { listener: 'api', connections: 50, opening: '', repeated: fill(get('/')) },
    { listener: 'api', connections: 50, opening: '', repeated: fill(post('Content-Length: 0\r\n')) },
    { listener: 'console', connections: 50, opening: '', repeated: fill(get('/readyz')) },
    { listener: 'console', connections: 50, opening: '', repeated: fill(get('/no/such/page')) },
  ],
  'that request large documents and read nothing, or a few bytes a second,': [
    { listener: 'api', connections: 50, opening: '', repeated: get('/?format=openapi').repeat(10), everyMs: 50 },
    { listener: 'console', connections: 50, opening: '', repeated: get('/').repeat(10), everyMs: 50 },
    {
      listener: 'api',
      connections: 50,
      opening: '',
      repeated: get('/?format=openapi').repeat(10),
      everyMs: 50,
      readPerSecond: 20,
    },
  ],
  'that send bodies without a valid key': [
    {
      listener: 'api',
      connections: 500,
      opening: post(`Content-Length: ${bodyBytes}\r\n`) + 'x'.repeat(bodyBytes - 1),
    },
    {
      listener: 'api',
      connections: 500,
      opening: `${post('Authorization: Bearer svc_unknown\r\nTransfer-Encoding: chunked\r\n')}3ffff\r\n${'x'.repeat(bodyBytes - 1)}`,
    },
    {
      listener: 'console',
      connections: 100,
      opening:
        'POST /api/sign-in/link HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 65536\r\n\r\n' +
        'x'.repeat(65_000),
    },
  ],
  'that open a WebSocket and never sign in': [
    {
      listener: 'console',
      connections: 200,
      opening: upgrade,
    },
    {
      listener: 'console',
      connections: 200,
      opening: 'GET /other HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    },
  ],
  'that fill a WebSocket with frames without packets and never read': [
    { listener: 'console', connections: 20, opening: upgrade, repeated: frames(0x89, 'x'.repeat(125)) },
    { listener: 'console', connections: 20, opening: upgrade, repeated: frames(0x89) },
    { listener: 'console', connections: 20, opening: upgrade, repeated: frames(0x8a) },
    { listener: 'console', connections: 20, opening: upgrade, repeated: frames(0x82) },
    { listener: 'console', connections: 20, opening: `${upgrade}\x02\x80\0\0\0\0`, repeated: frames(0x00) },
  ],
};

/** Cases that differ under TLS run every time, the others with TOCSIN_TEST_LONG=1. */
const overTls = ['that pipeline requests and never read', 'that send bodies without a valid key'];

for (const isSecure of [false, true]) {
  suite(isSecure ? 'Over TLS, clients' : 'Clients', () => {
    let authority: TestAuthority;
    before(() => {
      authority = createTestAuthority();
    });
    after(() => authority.remove());

    const run = Object.entries(attacks).filter(([name]) => !isSecure || isLongRun || overTls.includes(name));
    for (const [name, wanted] of run) {
      test(`${name} are disconnected, and cost neither much memory nor the service of others`, async (t) => {
        const { certFile, keyFile } = authority.issue('IP:127.0.0.1');
        const installation = await install(t, {
          ...(isSecure && { TOCSIN_TLS_CERT: certFile, TOCSIN_TLS_KEY: keyFile }),
          // Each defence has to work by itself.
          TOCSIN_UNAUTHENTICATED_CONNECTIONS: '100000',
        });
        const scaled = wanted.map((each) => ({ ...each, connections: each.connections / (isSecure ? 2 : 1) }));
        await attack(t, await installation.serve(), scaled, isSecure);
      });
    }
  });
}

async function attack(t: TestContext, gateway: GatewayProcess, wanted: Wanted[], isSecure: boolean): Promise<void> {
  // The first requests allocate memory that stays allocated.
  await measureRequests(gateway, AbortSignal.timeout(1000));
  const before = await usageOf(gateway);
  const { api, console: consoleUrl } = gateway.line;
  const ports = { api: Number(new URL(api).port), console: Number(new URL(consoleUrl).port) };
  const clients = fork(fileURLToPath(new URL('../../test-support/src/hostile-clients.ts', import.meta.url)), {
    execArgv: [],
  });
  t.after(() => clients.kill('SIGKILL'));
  clients.send(wanted.map(({ listener, ...each }) => ({ ...each, port: ports[listener], isSecure })) as HostileOrder);
  const over = new AbortController();
  t.after(() => over.abort());
  const others = measureRequests(gateway, over.signal);
  const [report] = (await once(clients, 'message')) as [HostileReport];
  const openAt = performance.now();
  await eventually(
    'every hostile connection is closed',
    goneWithinMs,
    () => connectionsTo(ports.api, ports.console),
    // The connections of the regular caller stay.
    (count) => count <= 16,
  );
  const goneMs = performance.now() - openAt;
  const after = await usageOf(gateway);
  over.abort();
  const { statuses, times } = await others;
  t.diagnostic(
    `${report.opened} connections, gone ${goneMs.toFixed()} ms after the last was open; ` +
      `memory ${before.megabytes} MB, ${after.peakMegabytes} MB at most; others: ${describeTimes(times)}`,
  );
  assert.deepEqual([...new Set(statuses)], [200]);
  const growth = after.peakMegabytes - before.megabytes;
  assert.ok(growth < mostMegabytes, `memory grew by ${growth} MB`);
}
