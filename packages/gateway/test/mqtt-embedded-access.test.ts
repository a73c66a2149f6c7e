// Who may connect to the embedded broker, and that a malicious client gets nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerFixture, type TestDevice, titleOf } from '@tocsin/test-support/embedded-broker.ts';
import { MosquittoSub, mosquittoObstacle, mosquittoPub } from '@tocsin/test-support/embedded-mosquitto.ts';
import {
  fixedHeader,
  messageIdOf,
  packetType,
  RawClient,
  readPublish,
  type SignInOptions,
} from '@tocsin/test-support/embedded-raw-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { limits } from '../src/channels/mqtt/embedded/limits.ts';
import { sessionId } from '../src/channels/mqtt/embedded/sessions.ts';

/** The promised time for a revocation, plus slack for a busy machine. */
const promisedMs = 1000;
const slackMs = 1000;

interface Parties {
  fixture: BrokerFixture;
  attacker: TestDevice;
  victims: TestDevice[];
}

/** A malicious device, another device of its owner, and a device of another owner. */
async function gather(fixture: BrokerFixture): Promise<Parties> {
  const attacker = await fixture.addDevice();
  return { fixture, attacker, victims: [await fixture.addDevice(attacker.ownerId), await fixture.addDevice()] };
}

function hostileFilters(attacker: TestDevice, victim: TestDevice): string[] {
  const own = attacker.topic.replace(/notifications$/, '');
  const others = victim.topic.replace(/notifications$/, '');
  return [
    '#',
    '+',
    '/#',
    '+/#',
    '+/+/+/notifications',
    'tocsin/#',
    'tocsin/+/+/notifications',
    `tocsin/${attacker.ownerId}/#`,
    `tocsin/${attacker.ownerId}/+/notifications`,
    `tocsin/+/${attacker.id}/notifications`,
    `tocsin/+/${victim.id}/notifications`,
    victim.topic,
    `${others}#`,
    '$SYS/#',
    '$SYS/+/new/clients',
    '$share/g/#',
    `$share/g/${victim.topic}`,
    `$share/g/${attacker.topic}`,
    `$queue/${victim.topic}`,
    own.slice(0, -1),
    own,
    `/${victim.topic}`,
    `${own}/notifications`,
    `${own}notifications/`,
    `${own.slice(0, -1)}+/notifications`,
    `${own}\u0000`,
    `${others}\u0000`,
    `tocsin/${attacker.ownerId}\uff0f${attacker.id}/#`,
    `TOCSIN/${victim.ownerId}/${victim.id}/notifications`,
    `${own}${'x'.repeat(limits.filterLength)}`,
    `${own}#/notifications`,
    `${own}a+`,
    '',
  ];
}

/** Invalid filters (section 4.7.1); they may end the connection. */
const malformed = /^$|#.|[^/]\+/;

for (const clean of [true, false]) {
  test(`No filter matches outside the topics of the device, with clean session ${clean}`, async (t) => {
    const { fixture, attacker, victims } = await gather(await BrokerFixture.start(t));
    const filters = victims.flatMap((victim) => hostileFilters(attacker, victim));
    for (const [index, filter] of filters.entries()) {
      const client = await RawClient.signIn(fixture.port, attacker, { clean, clientId: `hostile ${index % 3}` });
      const granted = await client.subscribe([filter, attacker.topic], 1);
      if (granted === 'closed') {
        assert.match(filter, malformed);
        continue;
      }
      assert.deepEqual(granted, [128, 1], filter);
      for (const victim of victims) await fixture.notify(victim, 'not for you', 1);
      await fixture.notify(attacker, 'for you', 1);
      // Messages sent before would have arrived before this one.
      const { topic, payload } = readPublish(await client.next('publish'));
      assert.deepEqual([topic, titleOf(payload)], [attacker.topic, 'for you'], filter);
      await client.ping();
      assert.deepEqual(
        client.packets.map((packet) => readPublish(packet).topic).filter((other) => other !== attacker.topic),
        [],
        filter,
      );
      await client.end();
    }
    const stored = (await fixture.store.mqttSessions.list()).flatMap(({ subscriptions }) => subscriptions);
    assert.deepEqual(new Set(stored.map(({ filter }) => filter)), new Set(clean ? [] : [attacker.topic]));
  });
}

test('A device may use wildcards below its own prefix', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const own = device.topic.replace(/notifications$/, '');
  const client = await RawClient.signIn(fixture.port, device);
  assert.deepEqual(await client.subscribe([`${own}#`, `${own}+`, `${own}+/#`, device.topic], 0), [0, 0, 0, 0]);
});

test('The number of subscriptions of a client is limited', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  for (const clean of [true, false]) {
    const client = await RawClient.signIn(fixture.port, device, { clean, clientId: 'collector' });
    const filters = Array.from({ length: limits.filtersPerClient + 5 }, (_, index) => `${device.topic}/${index}`);
    const granted = await client.subscribe(filters, 1);
    assert.deepEqual(
      granted,
      filters.map((_, index) => (index < limits.filtersPerClient ? 1 : 128)),
    );
    await client.end();
  }
  const [session] = await fixture.store.mqttSessions.list();
  assert.equal(session?.subscriptions.length, limits.filtersPerClient);
});

test('A publish of a client is acknowledged and reaches no client, now or later', async (t) => {
  const { fixture, attacker, victims } = await gather(await BrokerFixture.start(t));
  const devices = [attacker, ...victims];
  const listeners = await Promise.all(
    devices.map(async (device) => {
      const listener = await RawClient.signIn(fixture.port, device, { clientId: 'listener' });
      await listener.subscribe([device.topic.replace(/notifications$/, '#')], 2);
      return listener;
    }),
  );
  const topics = [
    ...devices.map(({ topic }) => topic),
    ...victims.map(({ ackTopic }) => ackTopic),
    `${attacker.ackTopic}/more`,
    `$share/g/${attacker.ackTopic}`,
    'elsewhere',
    'ignored',
    // Topics that aedes itself subscribes to: another broker announces that it has this client now.
    ...['new/clients', 'heartbeat', 'birth', 'disconnect/clients'].map((topic) => `$SYS/another/${topic}`),
  ];
  const payloads = [
    '{"title":"forged"}',
    ...victims.map((victim) => sessionId({ deviceId: victim.id, clientId: 'listener' })),
  ];
  const client = await RawClient.signIn(fixture.port, attacker, { clientId: 'hostile' });
  for (const topic of topics) {
    for (const payload of payloads) {
      for (const retain of [false, true]) await publishAll(client, topic, payload, retain);
    }
  }
  await publishAll(client, attacker.ackTopic, 'x'.repeat(limits.acknowledgementBytes + 1), false);
  await publishAll(client, attacker.topic, 'x'.repeat(20 * limits.packetBytes), true);
  assert.deepEqual(client.packets, []);
  for (const [index, device] of devices.entries()) {
    const listener = listeners[index] as RawClient;
    await fixture.notify(device, 'genuine', 0);
    assert.equal(titleOf(readPublish(await listener.next('publish')).payload), 'genuine');
    assert.deepEqual(listener.packets, []);
    const late = await RawClient.signIn(fixture.port, device, { clientId: 'late' });
    await late.subscribe([device.topic.replace(/notifications$/, '#')], 2);
    await late.ping();
    assert.deepEqual(late.packets, [], 'nothing was retained');
  }
  const reported = fixture.events.filter(({ kind }) => !['signed_in', 'disconnected'].includes(kind));
  const { ownerId, id: deviceId } = attacker;
  assert.deepEqual(reported, [{ kind: 'publish_ignored', ownerId, deviceId, clientId: 'hostile' }], 'reported once');
});

/** Publishes with each QoS, until the broker has acknowledged it. */
async function publishAll(client: RawClient, topic: string, payload: string, retain: boolean): Promise<void> {
  client.publish(topic, payload, { qos: 0, retain });
  client.publish(topic, payload, { qos: 1, retain });
  await client.next('puback');
  client.publish(topic, payload, { qos: 2, retain });
  client.release(messageIdOf(await client.next('pubrec')));
  await client.next('pubcomp');
}

test('A client that publishes with QoS 2 and never completes it costs nothing, and stays connected', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const client = await RawClient.signIn(fixture.port, device, { clientId: 'half open', clean: false });
  for (let id = 1; id <= 3000; id += 1) client.publish('elsewhere', 'x', { qos: 2, id });
  for (let id = 1; id <= 3000; id += 1) await client.next('pubrec');
  await client.ping();
});

test('mosquitto_pub to a topic of another device is acknowledged, and the subscriber there receives nothing', async (t) => {
  if (!canRun(t, mosquittoObstacle())) return;
  const { fixture, attacker, victims } = await gather(await BrokerFixture.start(t));
  const victim = victims[1] as TestDevice;
  const subscriber = await new MosquittoSub(t, fixture, victim, '-t', victim.topic, '-q', '1').subscribed();
  for (const qos of ['0', '1', '2']) {
    assert.equal(await mosquittoPub(fixture, attacker, '-t', victim.topic, '-m', '{"title":"forged"}', '-q', qos), 0);
  }
  await fixture.notify(victim, 'genuine', 1);
  assert.deepEqual(await subscriber.titles(1), ['genuine']);
});

test('A last will reaches no client', async (t) => {
  const { fixture, attacker, victims } = await gather(await BrokerFixture.start(t));
  for (const victim of [attacker, ...victims]) {
    const listener = await RawClient.signIn(fixture.port, victim, { clientId: 'listener' });
    await listener.subscribe([victim.topic.replace(/notifications$/, '#')], 1);
    for (const topic of [victim.topic, victim.ackTopic]) {
      const will = { topic, payload: '{"title":"forged"}', retain: true };
      const client = await RawClient.signIn(fixture.port, attacker, { clientId: 'dying', will });
      client.socket.resetAndDestroy();
      await client.ended();
    }
    const isGone = () => fixture.events.filter(({ kind }) => kind === 'disconnected').length % 2 === 0;
    await eventually('the broker noticed the disconnect', 5000, isGone, Boolean);
    await fixture.notify(victim, 'genuine', 0);
    assert.equal(titleOf(readPublish(await listener.next('publish')).payload), 'genuine');
    assert.deepEqual(listener.packets, []);
  }
});

test('The client id of another device neither ends its connection nor takes over its session', async (t) => {
  const { fixture, attacker, victims } = await gather(await BrokerFixture.start(t));
  const victim = victims[1] as TestDevice;
  const present = await RawClient.signIn(fixture.port, victim, { clientId: 'phone', clean: false });
  await present.subscribe([victim.topic], 1);
  for (const clientId of ['phone', `${victim.id}/phone`, `../${victim.id}/phone`, `/${victim.id}/phone`]) {
    for (const clean of [false, true]) {
      const client = await RawClient.signIn(fixture.port, attacker, { clientId, clean });
      await client.ping();
      await client.end();
      const stranger = await RawClient.open(fixture.port);
      assert.equal(await stranger.connect({ clientId, clean, username: victim.id, password: 'wrong' }), 5);
      await stranger.ended();
    }
  }
  await present.ping();
  await present.end();
  await fixture.notify(victim, 'missed', 1);
  const taker = await RawClient.signIn(fixture.port, attacker, { clientId: 'phone', clean: false });
  const back = await RawClient.signIn(fixture.port, victim, { clientId: 'phone', clean: false });
  assert.equal(titleOf(readPublish(await back.next('publish')).payload), 'missed');
  await taker.ping();
  assert.deepEqual(taker.packets, []);
});

test('A client that reconnects replaces its own connection, however often, and gets its messages', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const signIn = () => RawClient.signIn(fixture.port, device, { clientId: 'phone', clean: false });
  const first = await signIn();
  await first.subscribe([device.topic], 1);
  const clients = await Promise.allSettled(Array.from({ length: 8 }, signIn));
  await first.ended();
  const last = await signIn();
  for (const client of clients) if (client.status === 'fulfilled') await client.value.ended();
  await fixture.notify(device, 'for the last', 1);
  assert.equal(titleOf(readPublish(await last.next('publish')).payload), 'for the last');
});

test('Unknown, wrong, missing, inactive and paused credentials get the same response', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { id: username, secret: password } = await fixture.addDevice();
  const inactive = await fixture.addDevice();
  await fixture.store.devices.change(inactive.id, { state: 'inactive' });
  const paused = await fixture.addDevice();
  await fixture.store.devices.change(paused.id, { paused: true });
  const deleted = await fixture.addDevice();
  await fixture.store.devices.delete(deleted.id);
  const attempts: SignInOptions[] = [
    { username, password: `${password}x` },
    { username, password: '' },
    { username, password: null },
    { username: null, password: null },
    { username: 'dev_thatNeverWas', password },
    { username: '', password },
    { username: `${username}/`, password },
    { username: 'a'.repeat(1000), password },
    { username: `${username}\u0000`, password },
    { username: '__proto__', password },
    ...[inactive, paused, deleted].map((device) => ({ username: device.id, password: device.secret })),
  ];
  for (const attempt of attempts) {
    const client = await RawClient.open(fixture.port);
    assert.equal(await client.connect(attempt), 5, JSON.stringify(attempt));
    await client.ended();
    assert.deepEqual(client.packets, []);
  }
  assert.equal(await (await RawClient.open(fixture.port)).connect({ username, password }), 0);
  const refusals = fixture.events.filter(({ kind }) => kind === 'sign_in_refused');
  assert.equal(refusals.length, attempts.length);
  assert.ok(!JSON.stringify(fixture.events).includes(password), 'no event names a password');
});

test('A device has a limited number of connections', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const signIn = (clientId: string) => RawClient.signIn(fixture.port, device, { clientId });
  const clients: RawClient[] = [];
  for (let count = 0; count < limits.connectionsPerDevice; count += 1) clients.push(await signIn(`client ${count}`));
  await assert.rejects(signIn('one more'), /CONNACK 3/);
  await (await RawClient.signIn(fixture.port, await fixture.addDevice())).ping();
  await clients[0]?.end();
  await eventually(
    'a connection is free again',
    5000,
    () =>
      signIn('next').then(
        () => true,
        () => false,
      ),
    Boolean,
  );
});

for (const { what, revoke } of [
  { what: 'paused', revoke: ({ store }: BrokerFixture, id: string) => store.devices.change(id, { paused: true }) },
  {
    what: 'inactive',
    revoke: ({ store }: BrokerFixture, id: string) => store.devices.change(id, { state: 'inactive' }),
  },
  { what: 'deleted', revoke: ({ store }: BrokerFixture, id: string) => store.devices.delete(id) },
]) {
  test(`A device that is ${what} loses its connections within a second, and other devices keep theirs`, async (t) => {
    const fixture = await BrokerFixture.start(t);
    const [device, other] = [await fixture.addDevice(), await fixture.addDevice()];
    const clients = [
      await RawClient.signIn(fixture.port, device, { clientId: 'phone', clean: false }),
      await RawClient.signIn(fixture.port, device, { clientId: 'tablet' }),
    ];
    await clients[0]?.subscribe([device.topic], 1);
    const bystander = await RawClient.signIn(fixture.port, other);
    await revoke(fixture, device.id);
    const since = performance.now();
    await Promise.all(clients.map((client) => client.ended()));
    const ms = performance.now() - since;
    t.diagnostic(`${what}: disconnected after ${ms.toFixed()} ms`);
    assert.ok(ms <= promisedMs + slackMs, `only after ${ms} ms`);
    await bystander.ping();
    await assert.rejects(RawClient.signIn(fixture.port, device), /CONNACK 5/);
    const sessionsLeft = what === 'deleted' ? 0 : 1;
    const count = async (): Promise<number> => (await fixture.store.mqttSessions.list()).length;
    await eventually('the expected sessions remain', 5000, count, (sessions) => sessions === sessionsLeft);
  });
}

test('A packet that is not allowed first, too large, or malformed ends the connection', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const broken: Uint8Array[] = [
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    Buffer.of(packetType.publish << 4, 4, 0, 1, 97, 98),
    Buffer.of(packetType.connect << 4, 0xff, 0xff, 0xff, 0xff, 0x7f),
    Buffer.of(packetType.connect << 4, 0xff, 0xff, 0x7f),
    Buffer.of(packetType.connect << 4, 2, 0, 9),
    Buffer.of(packetType.connect << 4, 0),
  ];
  for (const bytes of broken) {
    const client = await RawClient.open(fixture.port);
    client.send(bytes);
    await client.ended();
    assert.deepEqual(client.packets, []);
  }
  const client = await RawClient.signIn(fixture.port, device);
  client.send(Buffer.concat([fixedHeader(packetType.subscribe, 2, limits.packetBytes + 1), Buffer.alloc(100)]));
  await client.ended();
  await (await RawClient.signIn(fixture.port, device)).ping();
});
