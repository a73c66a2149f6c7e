// Failed sign-ins, however many and from any address, lock out no device that has the right password.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { BrokerFixture, type TestDevice, titleOf } from '@tocsin/test-support/embedded-broker.ts';
import { RawClient, readPublish, type SignInOptions } from '@tocsin/test-support/embedded-raw-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { startSignInFlood } from '@tocsin/test-support/mqtt-sign-in-flood.ts';
import { connectionsTo } from '@tocsin/test-support/process-usage.ts';
import { limits } from '../src/channels/mqtt/embedded/limits.ts';

const wrongPassword = 5;
const tooMany = 3;

test('Wrong passwords for one device lock out no other device at that address', async (t) => {
  const { fixture, connect } = await startBroker(t);
  const [guessed, other] = [await fixture.addDevice(), await fixture.addDevice()];
  for (let count = 0; count < limits.failuresPerDeviceAndMinute; count += 1) {
    assert.equal(await connect({ username: guessed.id, password: `wrong ${count}` }), wrongPassword);
  }
  assert.equal(await connect({ username: guessed.id, password: 'wrong' }), tooMany);
  assert.equal(await connect({ username: other.id, password: other.secret }), 0);
});

test('A device that signed in before is not locked out by wrong passwords for its name', async (t) => {
  const { fixture, connect } = await startBroker(t);
  const { id: username, secret: password } = await fixture.addDevice();
  assert.equal(await connect({ username, password }), 0);
  await exhaust(connect, username);
  assert.equal(await connect({ username, password }), 0);
  assert.equal(await connect({ username, password: 'wrong' }), tooMany);
});

test('An old password is subject to the limits again after the device got a new one', async (t) => {
  const { fixture, connect } = await startBroker(t);
  const { id: username, secret: password } = await fixture.addDevice();
  assert.equal(await connect({ username, password }), 0);
  await fixture.changePassword(username, 'the new one');
  await exhaust(connect, username);
  // Allowed once, since it was right before, and found wrong.
  assert.equal(await connect({ username, password }), wrongPassword);
  assert.equal(await connect({ username, password }), tooMany);
});

test('A paused device cannot sign in with the password that was accepted before', async (t) => {
  const { fixture, connect } = await startBroker(t);
  const { id: username, secret: password } = await fixture.addDevice();
  assert.equal(await connect({ username, password }), 0);
  await fixture.store.devices.change(username, { paused: true });
  await exhaust(connect, username);
  assert.equal(await connect({ username, password }), wrongPassword);
});

test('Silent connections are closed in favour of a device that signs in', async (t) => {
  const { fixture } = await startBroker(t);
  const device = await fixture.addDevice();
  const silent = await Promise.all(Array.from({ length: limits.idlePerAddress }, () => RawClient.open(fixture.port)));
  const client = await RawClient.signIn(fixture.port, device);
  await client.ping();
  await eventually(
    'the oldest silent connection was closed',
    5000,
    () => silent.filter(({ isClosed }) => isClosed).length,
    (closed) => closed >= 1,
  );
});

test('A flood of failed sign-ins keeps no device from connecting, reconnecting and receiving', async (t) => {
  const { gateway, device, newDevice } = await startGateway(t);
  const port = Number(new URL(gateway.line.mqtt as string).port);
  const present = await RawClient.signIn(port, device, { clientId: 'present' });
  await present.subscribe([device.topic], 1);
  const memoryBefore = residentBytes(gateway);
  const flood = await startSignInFlood(t, { port, usernames: [device.id], parallel: 100, silent: 1500 });
  const enough = limits.failuresPerAddressAndSecond * 5;
  await eventually('the flood is running', 60_000, flood.report, ({ refused }) => refused > enough);

  // A new device may be refused while the limit of its address is reached, and retries.
  const newcomer = await eventually(
    'a device that never signed in before connected',
    60_000,
    () => RawClient.signIn(port, newDevice, { clientId: 'newcomer' }).catch(() => null),
    (client) => client !== null,
  );
  await newcomer?.subscribe([newDevice.topic], 1);
  const times: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const back = await RawClient.signIn(port, device, { clientId: 'reconnecting' });
    await back.subscribe([device.topic], 1);
    const since = performance.now();
    await post(gateway, `round ${round}`);
    times.push(performance.now() - since);
    for (const client of [present, back, newcomer as RawClient]) {
      const packet = await client.next('publish');
      const { payload, messageId } = readPublish(packet);
      assert.equal(titleOf(payload), `round ${round}`);
      client.confirm('puback', messageId as number);
    }
    await back.end();
  }
  flood.calm();
  // As the server sees it: a connection that overflowed its backlog stays open at the client, unknown to the server.
  const devices = [present, newcomer].length;
  await eventually(
    'every silent connection is closed',
    30_000,
    () => connectionsTo(port),
    (count) => count <= devices,
  );
  const growth = (residentBytes(gateway) - memoryBefore) / 1e6;
  t.diagnostic(
    `${flood.report().refused} refused; slowest of 20 requests ${Math.max(...times).toFixed()} ms; ${growth.toFixed()} MB more`,
  );
  assert.ok(growth < 150, `${growth} MB more`);
  const lines = gateway.log.split('\n').filter((line) => line.includes('sign_in_refused')).length;
  assert.ok(lines < 100, `${lines} lines in the log about refused sign-ins`);
});

test('A page of another site cannot open a WebSocket at /mqtt, the console can, and a program needs no Origin', async (t) => {
  const { gateway } = await startGateway(t, { TOCSIN_CONSOLE_URL: 'https://inbox.example.com' });
  const { port, host } = new URL(gateway.line.console);
  const statusFor = async (headers: string[], hostHeader = host): Promise<string> => {
    const socket = connect({ port: Number(port), host: '127.0.0.1' });
    const lines = [
      'GET /mqtt HTTP/1.1',
      `Host: ${hostHeader}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Protocol: mqtt',
      ...headers,
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    const [data] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return data.toString().split(' ')[1] as string;
  };
  assert.equal(await statusFor([]), '101');
  assert.equal(await statusFor(['Origin: https://inbox.example.com']), '101');
  assert.equal(await statusFor([`Origin: https://${host}`]), '101');
  for (const origin of [
    'https://evil.example',
    'http://inbox.example.com',
    'https://inbox.example.com.evil.example',
    'https://inbox.example.com:444',
    'null',
    '',
    'http://127.0.0.1:1',
    `https://${host}.evil.example`,
  ]) {
    assert.equal(await statusFor([`Origin: ${origin}`]), '403', origin);
  }
  // A page whose own host name resolves to this machine (DNS rebinding).
  assert.equal(await statusFor([`Origin: http://evil.example:${port}`], `evil.example:${port}`), '403');
  assert.equal(await statusFor([`Origin: https://evil.example:${port}`], `evil.example:${port}`), '403');
  // A proxy that does not forward the host name.
  assert.equal(await statusFor(['Origin: https://inbox.example.com'], `localhost:${port}`), '101');
});

async function startBroker(t: TestContext) {
  const fixture = await BrokerFixture.start(t);
  const connect = async (options: SignInOptions): Promise<number> =>
    (await RawClient.open(fixture.port)).connect(options);
  return { fixture, connect };
}

async function exhaust(connect: (options: SignInOptions) => Promise<number>, username: string): Promise<void> {
  for (let count = 0; count < limits.failuresPerDeviceAndMinute; count += 1) {
    await connect({ username, password: `wrong ${count}` });
  }
}

type Device = Pick<TestDevice, 'id' | 'secret' | 'topic'>;

async function startGateway(t: TestContext, environment: Record<string, string> = {}) {
  const installation = await install(t, environment);
  const gateway = await installation.serve();
  const { firstRun } = gateway.line;
  if (firstRun === undefined) throw new Error('This was not a first run.');
  const deviceOf = (id: string, secret: string): Device => {
    return { id, secret, topic: `tocsin/${firstRun.owner}/${id}/notifications` };
  };
  const device = deviceOf(firstRun.device.id, firstRun.device.mqtt.password);
  const created = await installation.json<{ id: string; mqtt: { password: string } }>(
    'device',
    'create',
    '--name',
    'New',
  );
  return { gateway, device, newDevice: deviceOf(created.id, created.mqtt.password) };
}

async function post(gateway: GatewayProcess, title: string): Promise<void> {
  const response = await fetch(gateway.api, {
    method: 'POST',
    headers: { Authorization: `Bearer ${gateway.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ title, body: 'Body', sendPush: false, sendEmail: false }),
  });
  const answer = (await response.json()) as { mqttPublishedCount: number };
  assert.equal(answer.mqttPublishedCount, 2);
}

function residentBytes({ child }: GatewayProcess): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
