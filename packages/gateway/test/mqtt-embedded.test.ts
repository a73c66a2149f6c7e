// The embedded broker with real clients, over TCP and WebSocket, that are connected when a message is sent.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { type TestContext, test } from 'node:test';
import { BrokerFixture, type TestDevice, titleOf, topicPrefix } from '@tocsin/test-support/embedded-broker.ts';
import { MosquittoSub, mosquittoObstacle, mosquittoPub } from '@tocsin/test-support/embedded-mosquitto.ts';
import { RawClient, readPublish } from '@tocsin/test-support/embedded-raw-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import mqtt from 'mqtt';
import { createEmbeddedBroker } from '../src/channels/mqtt/embedded/index.ts';

const levels = [0, 1, 2] as const;

test('mosquitto_sub gets messages with QoS 0, 1 and 2, each at its level, once, in order and not retained', async (t) => {
  if (!canRun(t, mosquittoObstacle())) return;
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const subscriber = await new MosquittoSub(t, fixture, device, '-t', device.topic, '-q', '2').subscribed();
  for (const qos of levels) await fixture.notify(device, `QoS ${qos}`, qos);
  await subscriber.titles(3);
  await fixture.notify(device, 'last', 2);
  await subscriber.titles(4);
  assert.deepEqual(subscriber.received, [
    { qos: 0, retained: false, title: 'QoS 0' },
    { qos: 1, retained: false, title: 'QoS 1' },
    { qos: 2, retained: false, title: 'QoS 2' },
    { qos: 2, retained: false, title: 'last' },
  ]);
});

test('A subscription with a lower QoS gets the message at that level', async (t) => {
  if (!canRun(t, mosquittoObstacle())) return;
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const filter = device.topic.replace(/notifications$/, '#');
  const subscriber = await new MosquittoSub(t, fixture, device, '-t', filter, '-q', '1').subscribed();
  for (const qos of levels) await fixture.notify(device, `QoS ${qos}`, qos);
  await subscriber.titles(3);
  assert.deepEqual(
    subscriber.received.map(({ qos }) => qos),
    [0, 1, 1],
  );
});

for (const clean of [true, false]) {
  test(`mqtt.js gets QoS 0, 1 and 2 over WebSocket with clean session ${clean}`, async (t) => {
    const fixture = await BrokerFixture.start(t);
    const device = await fixture.addDevice();
    const { received, client } = await overWebSocket(t, fixture, device, { clean, clientId: 'browser' });
    assert.deepEqual(await client.subscribeAsync(device.topic, { qos: 2 }), [{ topic: device.topic, qos: 2 }]);
    for (const qos of levels) await fixture.notify(device, `QoS ${qos}`, qos);
    await eventually(
      'three messages arrived',
      5000,
      () => received.length,
      (count) => count >= 3,
    );
    assert.deepEqual([...received].sort(), ['QoS 0', 'QoS 1', 'QoS 2']);
  });
}

test('Several clients of one device all get a message, and a client without an id gets one of its own', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const clients: RawClient[] = [];
  for (const clientId of ['', '', 'tablet']) {
    const client = await RawClient.signIn(fixture.port, device, { clientId });
    assert.deepEqual(await client.subscribe([device.topic], 1), [1]);
    clients.push(client);
  }
  await fixture.notify(device, 'for all', 1);
  for (const client of clients) assert.equal(titleOf(readPublish(await client.next('publish')).payload), 'for all');
});

test('A client without an id cannot keep a session', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const client = await RawClient.open(fixture.port);
  const { id: username, secret: password } = device;
  assert.equal(await client.connect({ clientId: '', clean: false, username, password }), 2);
  await client.ended();
});

test('Overlapping subscriptions of one client deliver a message once', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  for (const clean of [true, false]) {
    const client = await RawClient.signIn(fixture.port, device, { clean, clientId: `overlapping ${clean}` });
    const filters = [
      device.topic,
      device.topic.replace(/notifications$/, '+'),
      device.topic.replace(/notifications$/, '#'),
    ];
    assert.deepEqual(await client.subscribe(filters, 1), [1, 1, 1]);
    await fixture.notify(device, 'once', 1);
    client.confirm('puback', readPublish(await client.next('publish')).messageId as number);
    await client.ping();
    assert.deepEqual(client.packets, []);
    await client.end();
  }
});

test('A client that has unsubscribed gets nothing until it subscribes again', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const { received, client } = await overWebSocket(t, fixture, device, { clean: false, clientId: 'leaver' });
  const other = `${device.topic}/other`;
  await client.subscribeAsync([device.topic, other], { qos: 1 });
  await fixture.notify(device, 'before', 1);
  await eventually(
    'the first message arrived',
    5000,
    () => received.length,
    (count) => count === 1,
  );
  await client.unsubscribeAsync(device.topic);
  await fixture.notify(device, 'after', 1);
  await fixture.notify(device, 'after, with QoS 0', 0);
  assert.deepEqual(received, ['before']);
  await client.subscribeAsync(device.topic, { qos: 1 });
  await fixture.notify(device, 'again', 1);
  await eventually(
    'the last message arrived',
    5000,
    () => received.length,
    (count) => count >= 4,
  );
  assert.deepEqual(received, ['before', 'after', 'after, with QoS 0', 'again']);
});

test('A device acknowledges over its ack topic, which no other client receives', async (t) => {
  if (!canRun(t, mosquittoObstacle())) return;
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const all = device.topic.replace(/notifications$/, '#');
  const listener = await RawClient.signIn(fixture.port, device, { clientId: 'listener', clean: false });
  assert.deepEqual(await listener.subscribe([all], 1), [1]);
  for (const qos of ['0', '1']) {
    const sent = ['-t', device.ackTopic, '-m', `seen ${qos}`, '-q', qos, '-r'];
    assert.equal(await mosquittoPub(fixture, device, ...sent), 0);
  }
  const received = await eventually(
    'both acknowledgements were received',
    5000,
    () => fixture.events.filter(({ kind }) => kind === 'acknowledged'),
    ({ length }) => length === 2,
  );
  assert.deepEqual(
    received.map((event) => event.kind === 'acknowledged' && [event.ownerId, event.deviceId, event.payload.toString()]),
    ['seen 0', 'seen 1'].map((payload) => [device.ownerId, device.id, payload]),
  );
  await listener.ping();
  const late = await RawClient.signIn(fixture.port, device, { clientId: 'late' });
  await late.subscribe([all], 1);
  await late.ping();
  assert.deepEqual([...listener.packets, ...late.packets], []);
});

test('An upgrade to another path, or without the subprotocol mqtt, is refused', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { port } = new URL(await fixture.listenForWebSockets());
  const ask = async (path: string, subprotocol: string): Promise<string> => {
    const socket = connectTcp({ port: Number(port), host: '127.0.0.1' });
    const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
    const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n`;
    socket.write(`${head}${subprotocol}\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return answer.toString().slice(9, 12);
  };
  assert.equal(await ask('/mqtt', 'Sec-WebSocket-Protocol: mqttv3.1, mqtt\r\n'), '101');
  assert.equal(await ask('/mqtt?x=1', 'Sec-WebSocket-Protocol: mqtt\r\n'), '101');
  assert.equal(await ask('/other', 'Sec-WebSocket-Protocol: mqtt\r\n'), '404');
  assert.equal(await ask('/mqtt', 'Sec-WebSocket-Protocol: chat\r\n'), '400');
  assert.equal(await ask('/mqtt', ''), '400');
});

test('A client that uses MQTT 5 is refused with the reason: unacceptable protocol version', async (t) => {
  if (!canRun(t, mosquittoObstacle())) return;
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const subscriber = new MosquittoSub(t, fixture, device, '-t', device.topic, '-V', 'mqttv5');
  assert.notEqual(await subscriber.ended, 0);
  const reasons = fixture.events.map((event) => event.kind === 'dropped' && event.reason);
  assert.deepEqual(reasons, ['unacceptable protocol version']);
});

test('A port that is in use gives an error that names it', async (t) => {
  const fixture = await BrokerFixture.start(t);
  await assert.rejects(fixture.broker.listen('127.0.0.1', fixture.port), { code: 'EADDRINUSE' });
});

test('publish settles at once if its signal aborts, rejects foreign topics, and asks for a retry after close', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const notification = { id: 'x', ownerId: device.ownerId, createdAt: 0, content: sampleContent() };
  const outcome = (topic: string, signal: AbortSignal) =>
    fixture.publish({ ...device, topic }, notification, 1, signal);
  assert.equal((await outcome(device.topic, AbortSignal.abort())).kind, 'retry');
  assert.equal((await outcome('elsewhere', AbortSignal.timeout(5000))).kind, 'rejected');
  assert.equal(await fixture.broker.check(), null);

  const broker = await createEmbeddedBroker({ store: fixture.store, topicPrefix, now: Date.now });
  await broker.close();
  await broker.close();
  const message = { topic: device.topic, payload: Buffer.from('{}'), qos: 1, expiresAt: null } as const;
  const sent = await broker.publish(
    { ...message, notification: { id: 'x', ownerId: device.ownerId, deviceId: device.id } },
    AbortSignal.timeout(5000),
  );
  assert.equal(sent.kind, 'retry');
  assert.match(String(await broker.check()), /shutting down/);
});

test('close ends every connection, also unauthenticated ones', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const silent = await RawClient.open(fixture.port);
  const present = await RawClient.signIn(fixture.port, device);
  await fixture.broker.close();
  await Promise.all([silent.ended(), present.ended()]);
  assert.ok(silent.isClosed && present.isClosed);
});

interface WebSocketClientOptions {
  clean: boolean;
  clientId: string;
}

async function overWebSocket(
  t: TestContext,
  fixture: BrokerFixture,
  device: TestDevice,
  options: WebSocketClientOptions,
) {
  const url = `${await fixture.listenForWebSockets()}/mqtt`;
  const credentials = { username: device.id, password: device.secret };
  const client = await mqtt.connectAsync(url, { ...options, ...credentials, reconnectPeriod: 0 }, false);
  t.after(() => client.endAsync(true));
  const received: string[] = [];
  client.on('message', (_, payload) => received.push(titleOf(payload)));
  return { client, received };
}
