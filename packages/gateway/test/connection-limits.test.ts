// The limit of connections per address, and the handling of a client that stops reading.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess, ReadyLine } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { connectionsTo, isHeld } from '@tocsin/test-support/process-usage.ts';
import { createTestAuthority } from '@tocsin/test-support/tls-ca.ts';
import { connectAsync } from 'mqtt';
import { guardConnections, type ServerMaker } from '../src/http/connection-guard.ts';
import { openTls } from '../src/process/tls/index.ts';

async function serve(t: TestContext, environment: Record<string, string>): Promise<GatewayProcess> {
  const installation = await install(t, environment);
  return installation.serve();
}

function open(t: TestContext, url: string, text = ''): Socket {
  const { protocol, hostname: host, port } = new URL(url);
  const options = { host, port: Number(port) };
  const socket = protocol === 'https:' ? connectSecurely({ ...options, rejectUnauthorized: false }) : connect(options);
  socket.on('error', () => socket.destroy());
  t.after(() => socket.destroy());
  socket.write(text);
  return socket;
}

const post = (key: string): string =>
  `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Length: 13\r\n\r\n{"title":"x"}`;

async function statusOn(socket: Socket): Promise<string> {
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return bytes.toString('latin1', 9, 12);
}

function countEach(values: string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

const webSocketRequest =
  'GET /mqtt HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n';

test('Many authenticated clients behind one address keep their connections, whichever other clients connect', async (t) => {
  const gateway = await serve(t, { TOCSIN_UNAUTHENTICATED_CONNECTIONS: '20' });
  const count = 1000;
  const clients: Socket[] = [];
  const connectOneAfterAnother = async (): Promise<void> => {
    while (clients.length < count) {
      const socket = open(t, gateway.api, post(gateway.key));
      clients.push(socket);
      assert.equal(await statusOn(socket), '200');
    }
  };
  await Promise.all(Array.from({ length: 10 }, connectOneAfterAnother));
  for (let left = 100; left > 0; left -= 1) await once(open(t, gateway.api), 'connect');
  await eventually(
    'the connections without a key are down to the limit',
    15_000,
    () => connectionsTo(Number(new URL(gateway.api).port)),
    (open) => open === clients.length + 20,
  );
  for (const socket of clients.slice(0, 100)) {
    socket.write(post(gateway.key));
    assert.equal(await statusOn(socket), '200');
  }
  assert.match(gateway.log, /"reason":"too_many_connections","address":"127\.0\.0\.1"/);
});

test('If there are too many connections without a key, the oldest is closed, so that a new client can connect', async (t) => {
  const gateway = await serve(t, { TOCSIN_UNAUTHENTICATED_CONNECTIONS: '3' });
  for (const url of [gateway.api, gateway.line.console]) {
    const [oldest, ...others] = [open(t, url), open(t, url), open(t, url)] as [Socket, ...Socket[]];
    await Promise.all([oldest, ...others].map((socket) => once(socket, 'connect')));
    const closed = once(oldest.resume(), 'close');
    const newest = open(t, url, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match(await statusOn(newest), /^(200|404)$/);
    await closed;
    assert.deepEqual(
      others.map(({ destroyed }) => destroyed),
      [false, false],
    );
  }
});

test('1,500 clients behind one address that connect at the same moment, each with its key, all get a response', async (t) => {
  const gateway = await serve(t, {});
  const statuses = await Promise.all(
    Array.from({ length: 1500 }, async () => {
      const socket = open(t, gateway.api);
      await once(socket, 'connect');
      socket.write(post(gateway.key));
      return Promise.race([statusOn(socket), once(socket, 'close').then(() => 'closed')]);
    }),
  );
  assert.deepEqual(countEach(statuses), { '200': 1500 });
});

test('Devices that open a WebSocket at the same moment all sign in, and are not counted afterwards', async (t) => {
  const gateway = await serve(t, { TOCSIN_UNAUTHENTICATED_CONNECTIONS: '3' });
  const port = Number(new URL(gateway.line.console).port);
  const { id: username, mqtt } = (gateway.line.firstRun as NonNullable<ReadyLine['firstRun']>).device;
  const url = `ws://127.0.0.1:${port}/mqtt`;
  const devices = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      connectAsync(url, { username, password: mqtt.password, clientId: `client-${index}`, reconnectPeriod: 0 }),
    ),
  );
  t.after(() => Promise.all(devices.map((device) => device.endAsync(true))));
  const silent = Array.from({ length: 10 }, () => open(t, gateway.line.console, webSocketRequest));
  assert.deepEqual(countEach(await Promise.all(silent.map(statusOn))), { '101': 10 });
  await eventually(
    'the WebSockets that did not sign in are down to the limit',
    15_000,
    () => connectionsTo(port),
    (open) => open <= devices.length + 3,
  );
  assert.deepEqual(countEach(devices.map(({ connected }) => String(connected))), { true: 8 });
  assert.match(gateway.log, /"reason":"too_many_connections"/);
});

test('A WebSocket gets at most a hundred pongs for its pings, and is then closed', async (t) => {
  const gateway = await serve(t, {});
  const socket = open(t, gateway.line.console);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(`${webSocketRequest}${'\x89\x80\0\0\0\0'.repeat(500)}`, 'latin1');
  await once(socket, 'close');
  const pongs = Buffer.concat(chunks).toString('latin1').split('\x8a\0').length - 1;
  assert.ok(pongs <= 100, `${pongs} pongs`);
});

test('However fast connections without a key arrive, one address briefly has at most four times the limit', async (t) => {
  const gateway = await serve(t, { TOCSIN_UNAUTHENTICATED_CONNECTIONS: '10' });
  const port = Number(new URL(gateway.api).port);
  const sockets = Array.from({ length: 200 }, () => open(t, gateway.api));
  await Promise.all(sockets.map((socket) => once(socket.resume(), 'connect')));
  await eventually(
    'only the newest are open',
    15_000,
    () => connectionsTo(port),
    (open) => open <= 40,
  );
  await eventually(
    'they are down to the limit',
    15_000,
    () => connectionsTo(port),
    (open) => open === 10,
  );
});

test('Connections of a trusted proxy are not counted', async (t) => {
  const gateway = await serve(t, {
    TOCSIN_UNAUTHENTICATED_CONNECTIONS: '3',
    TOCSIN_TRUSTED_PROXIES: '127.0.0.0/8',
  });
  const sockets = Array.from({ length: 30 }, () => open(t, gateway.api));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) {
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.equal(await statusOn(socket), '200');
  }
});

suite('A client that stops reading', { concurrency: true }, () => {
  for (const isSecure of [false, true]) {
    for (const [what, respond] of [
      ['a large response', (response) => response.end(Buffer.alloc(32 * 1024 * 1024))],
      ['an endless stream', (response) => Readable.from(endless()).pipe(response)],
    ] as const satisfies [string, (response: ServerResponse) => unknown][]) {
      test(`${what} is disconnected${isSecure ? ', over TLS too' : ''}`, async (t) => {
        const reasons: string[] = [];
        const guarded = guardConnections({
          ...(isSecure && { createServer: await secureMaker(t) }),
          unauthenticatedPerAddress: 0,
          trustedProxies: [],
          onDisconnected: ({ reason }) => reasons.push(reason),
        });
        const server = guarded({ keepAliveTimeout: 75_000 }, (_request, response) => respond(response)).listen(
          0,
          '127.0.0.1',
        );
        t.after(() => server.closeAllConnections());
        t.after(() => server.close());
        await once(server, 'listening');
        const { port } = server.address() as AddressInfo;
        const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
        const reader = open(t, `http${isSecure ? 's' : ''}://127.0.0.1:${port}`, get);
        const idler = open(t, `http${isSecure ? 's' : ''}://127.0.0.1:${port}`, get);
        reader.resume();
        assert.equal(await statusOn(idler), '200');
        idler.pause();
        await eventually(
          'the connection is closed',
          30_000,
          () => isHeld(idler),
          (held) => !held,
        );
        assert.deepEqual(reasons, ['unread_response']);
        assert.equal(reader.destroyed, false);
      });
    }
  }
});

async function secureMaker(t: TestContext): Promise<ServerMaker> {
  const authority = createTestAuthority();
  t.after(() => authority.remove());
  const tls = await openTls(authority.issue('IP:127.0.0.1'), { onLoaded: () => undefined, onKept: () => undefined });
  t.after(() => tls.close());
  return tls.createServer;
}

async function* endless(): AsyncGenerator<Buffer> {
  for (const chunk = Buffer.alloc(65_536); ; ) {
    yield chunk;
    await delay(10);
  }
}
