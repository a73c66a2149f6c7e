// Expensive peers: peers that flood before they sign in, that stay silent, and that stop reading.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { BrokerFixture, titleOf } from '@tocsin/test-support/embedded-broker.ts';
import type { BrokerProcessReport } from '@tocsin/test-support/embedded-broker-process.ts';
import {
  connectPacket,
  fixedHeader,
  packetType,
  RawClient,
  readPublish,
} from '@tocsin/test-support/embedded-raw-client.ts';
import { limits } from '../src/channels/mqtt/embedded/limits.ts';

const megabyte = 1024 * 1024;
const sockets = 50;
const declared = 8 * megabyte;
const allowedGrowth = 20 * megabyte;
/** The documented limits: the time to sign in, and the time a socket may stay unread. */
const signInMs = 5000;
const drainMs = 5000;
const slackMs = 2500;

const webSocketHandshake = [
  'GET /mqtt HTTP/1.1',
  'Host: x',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: mqtt',
  '\r\n',
].join('\r\n');

/** A masked binary frame (RFC 6455, section 5.2) that declares this number of bytes; the mask is zero. */
function frameHeader(length: number, isFinal: boolean): Buffer {
  const header = Buffer.alloc(14);
  header[0] = isFinal ? 0x82 : 0x02;
  header[1] = 0x80 | 127;
  header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

const smallFrames = Buffer.concat(
  Array.from({ length: 1024 }, () =>
    Buffer.concat([Buffer.of(0x82, 0x80 | 126, 0x10, 0x00, 0, 0, 0, 0), Buffer.alloc(4096)]),
  ),
);

test('Peers that have not signed in cannot make the broker buffer the size they declare', async (t) => {
  const process = await startProcess(t);
  const { tcpPort, webSocketPort } = process.first;
  const connectHeader = fixedHeader(packetType.connect, 0, declared);
  const floods: { name: string; port: number; opening: Uint8Array; body?: Buffer }[] = [
    { name: 'CONNECT of 8 MB', port: tcpPort, opening: connectHeader },
    { name: 'PUBLISH of 8 MB', port: tcpPort, opening: fixedHeader(packetType.publish, 0, declared) },
    {
      name: 'small packets after CONNECT',
      port: tcpPort,
      opening: connectPacket({}),
      body: Buffer.alloc(declared, Buffer.of(0xc0, 0)),
    },
    {
      name: 'WebSocket frame of 8 MB',
      port: webSocketPort,
      opening: Buffer.concat([Buffer.from(webSocketHandshake), frameHeader(declared, true), connectHeader]),
    },
    {
      name: 'WebSocket fragment of 8 MB',
      port: webSocketPort,
      opening: Buffer.concat([Buffer.from(webSocketHandshake), frameHeader(declared, false), connectHeader]),
    },
    {
      name: 'CONNECT of 8 MB in small frames',
      port: webSocketPort,
      opening: Buffer.concat([Buffer.from(webSocketHandshake), Buffer.of(0x82, 0x85, 0, 0, 0, 0), connectHeader]),
      body: smallFrames,
    },
  ];
  // The first round is a warm-up, so that the measurement covers the peers and not the compilation of code.
  for (const { port, opening, body } of floods) await flood(port, opening, body ?? Buffer.alloc(declared), 5);
  for (const { name, port, opening, body } of floods) {
    await process.ask();
    const before = (await process.ask()).peakRss;
    await flood(port, opening, body ?? Buffer.alloc(declared), sockets);
    const growth = (await process.ask()).peakRss - before;
    t.diagnostic(`${name}: ${sockets} peers, ${(growth / megabyte).toFixed(1)} MB more`);
    assert.ok(growth < allowedGrowth, `${name}: grew by ${growth} bytes`);
  }
});

test('Peers that stay silent, or send CONNECT byte by byte, are disconnected', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { id: username, secret: password } = await fixture.addDevice();
  const since = performance.now();
  const silent = await RawClient.open(fixture.port);
  const slow = await RawClient.open(fixture.port);
  const bytes = connectPacket({ username, password });
  let sent = 0;
  const drip = setInterval(() => slow.send(bytes.subarray(sent, ++sent)), 250);
  t.after(() => clearInterval(drip));
  await Promise.all([silent.ended(), slow.ended()]);
  const ms = performance.now() - since;
  assert.ok(ms < signInMs + slackMs, `only after ${ms} ms`);
  assert.ok(sent < bytes.length, 'otherwise it would have completed');
  assert.deepEqual(slow.packets, []);
});

test('One address has a limited number of unauthenticated connections: the oldest is closed', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const strangers: RawClient[] = [];
  for (let count = 0; count < limits.idlePerAddress + 5; count += 1) {
    strangers.push(await RawClient.open(fixture.port));
  }
  await Promise.all(strangers.slice(0, 5).map((stranger) => stranger.ended()));
  assert.equal(strangers.slice(5).filter(({ isClosed }) => isClosed).length, 0);
});

for (const { clean, qos } of [
  { clean: true, qos: 0 },
  { clean: true, qos: 1 },
  { clean: false, qos: 1 },
] as const) {
  test(`A subscriber that stops reading delays no other client and is dropped: QoS ${qos}, clean session ${clean}`, async (t) => {
    const fixture = await BrokerFixture.start(t);
    const device = await fixture.addDevice();
    const frozen = await RawClient.signIn(fixture.port, device, { clientId: 'frozen', clean });
    const healthy = await RawClient.signIn(fixture.port, device, { clientId: 'healthy', clean });
    for (const client of [frozen, healthy]) await client.subscribe([device.topic], qos);
    frozen.socket.pause();
    const isDropped = () =>
      fixture.events.some((event) => event.kind === 'disconnected' && event.clientId === 'frozen');

    const filler = 'x'.repeat(256 * 1024);
    const since = performance.now();
    let slowestMs = 0;
    let count = 0;
    while (!isDropped()) {
      const begin = performance.now();
      await fixture.notify(device, `${count} ${filler}`, qos);
      let number: number;
      do {
        const { payload, messageId } = readPublish(await healthy.next('publish'));
        number = Number(titleOf(payload).split(' ')[0]);
        if (messageId !== null) healthy.confirm('puback', messageId);
        // Messages that were unacknowledged when the other client was dropped may be repeated.
      } while (number < count);
      slowestMs = Math.max(slowestMs, performance.now() - begin);
      assert.equal(number, count);
      count += 1;
      assert.ok(performance.now() - since < drainMs + slackMs, 'the frozen subscriber is still connected');
    }
    t.diagnostic(
      `dropped after ${count} messages and ${(performance.now() - since).toFixed()} ms; slowest ${slowestMs.toFixed()} ms`,
    );
    assert.ok(slowestMs < drainMs / 2, `a healthy subscriber waited ${slowestMs} ms`);
    await healthy.ping();
    await frozen.end();
    const drops = fixture.events.filter(({ kind }) => kind === 'dropped');
    assert.equal(drops.length, 1, `one drop was reported ${drops.length} times`);
  });
}

/** Opens this number of sockets, each sending an opening and then the body, until the broker has closed all of them. */
async function flood(port: number, opening: Uint8Array, body: Buffer, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      await once(socket, 'connect');
      socket.resume();
      socket.write(opening);
      socket.write(body);
      await closed;
    }),
  );
}

async function startProcess(t: TestContext) {
  const child = fork(new URL('../../test-support/src/embedded-broker-process.ts', import.meta.url), {
    execArgv: ['--expose-gc'],
  });
  t.after(async () => {
    child.disconnect();
    await once(child, 'exit');
  });
  const [first] = (await once(child, 'message')) as [BrokerProcessReport];
  const ask = async (): Promise<BrokerProcessReport> => {
    child.send('report');
    return ((await once(child, 'message')) as [BrokerProcessReport])[0];
  };
  return { first, ask };
}
