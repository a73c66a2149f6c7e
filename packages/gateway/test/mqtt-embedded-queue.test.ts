// The queue of a device: from its creation, over connections of every kind, up to its limit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerFixture, type TestDevice, titleOf } from '@tocsin/test-support/embedded-broker.ts';
import { RawClient, readPublish } from '@tocsin/test-support/embedded-raw-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { QueueLimit } from '../src/channels/mqtt/config.ts';

/** Receives this number of messages, acknowledges them, and returns their titles. */
async function take(client: RawClient, count: number): Promise<string[]> {
  const titles: string[] = [];
  while (titles.length < count) {
    const { messageId, payload } = readPublish(await client.next('publish'));
    titles.push(titleOf(payload));
    if (messageId !== null) client.confirm('puback', messageId);
  }
  return titles;
}

const lengthOf = async (fixture: BrokerFixture, device: TestDevice): Promise<number> =>
  (await fixture.store.mqttQueues.lengths())
    .filter(({ deviceId }) => deviceId === device.id)
    .reduce((sum, { length }) => sum + length, 0);

const isEmpty = (fixture: BrokerFixture, device: TestDevice) =>
  eventually(
    'the queue is empty',
    5000,
    () => lengthOf(fixture, device),
    (length) => length === 0,
  );

for (const clean of [true, false]) {
  for (const qos of [0, 1, 2] as const) {
    test(`Messages published before the first connection arrive with it: clean session ${clean}, QoS ${qos}`, async (t) => {
      const fixture = await BrokerFixture.start(t);
      const device = await fixture.addDevice();
      const titles = Array.from({ length: 250 }, (_, index) => `message ${index}`);
      for (const title of titles) await fixture.notify(device, title, 1);
      await fixture.restart();
      const client = await RawClient.signIn(fixture.port, device, { clean, clientId: 'first' });
      await client.subscribe([device.topic], qos);
      assert.deepEqual(await take(client, titles.length), titles);
      await isEmpty(fixture, device);
    });
  }
}

test('A device that has never connected is distinguished from one that is offline', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const publish = async () => {
    const id = await fixture.notify(device, 'x', 1);
    const notification = await fixture.store.notifications.find(device.ownerId, id);
    assert.ok(notification);
    return fixture.publish(device, notification, 1);
  };
  assert.deepEqual(await publish(), { kind: 'queued' });
  await (await RawClient.signIn(fixture.port, device)).end();
  assert.deepEqual(await publish(), { kind: 'sent' });
  await fixture.restart();
  assert.deepEqual(await publish(), { kind: 'sent' });
});

test('A client without a session loses nothing between two connections', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const connect = async () => {
    const client = await RawClient.signIn(fixture.port, device, { clean: true });
    await client.subscribe([device.topic], 1);
    return client;
  };
  const first = await connect();
  await fixture.notify(device, 'acknowledged', 1);
  assert.deepEqual(await take(first, 1), ['acknowledged']);
  await fixture.notify(device, 'not acknowledged', 1);
  await first.next('publish');
  await first.end();
  await fixture.notify(device, 'while it was offline', 1);
  const second = await connect();
  assert.deepEqual(await take(second, 2), ['not acknowledged', 'while it was offline']);
  await isEmpty(fixture, device);
});

test('Every connected client of a device gets each message', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const kinds = [
    { clean: true, clientId: 'clean 1' },
    { clean: true, clientId: 'clean 2' },
    { clean: false, clientId: 'kept 1' },
    { clean: false, clientId: 'kept 2' },
  ];
  const clients = await Promise.all(kinds.map((kind) => RawClient.signIn(fixture.port, device, kind)));
  for (const client of clients) await client.subscribe([device.topic], 1);
  const titles = Array.from({ length: 300 }, (_, index) => `message ${index}`);
  const [taken] = await Promise.all([
    Promise.all(clients.map((client) => take(client, titles.length))),
    (async () => {
      for (const title of titles) await fixture.notify(device, title, 1);
    })(),
  ]);
  for (const [index, got] of taken.entries()) assert.deepEqual(got, titles, `client ${index}`);
  await isEmpty(fixture, device);
});

test('Messages that a client leaves unread go once to the remaining client of the device', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const passing = await RawClient.signIn(fixture.port, device, { clean: true, clientId: 'passing' });
  await passing.subscribe([device.topic], 1);
  await fixture.notify(device, 'before', 1);
  await passing.next('publish');
  const kept = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'kept' });
  await kept.subscribe([device.topic], 1);
  await fixture.notify(device, 'for both', 1);
  assert.deepEqual(await take(kept, 1), ['for both']);
  await eventually(
    'the acknowledgement is stored',
    5000,
    () => lengthOf(fixture, device),
    (length) => length === 2,
  );
  await passing.end();
  assert.deepEqual(await take(kept, 1), ['before']);
  await isEmpty(fixture, device);
  await kept.ping();
  assert.deepEqual(kept.packets, []);
});

test('Messages with QoS 0 are queued in order and kept for offline clients, like all others', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const away = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'away' });
  await away.subscribe([device.topic], 1);
  await away.end();
  const slow = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'slow' });
  await slow.subscribe([device.topic], 1);
  const titles = Array.from({ length: 120 }, (_, index) => `message ${index}`);
  for (const [index, title] of titles.entries()) await fixture.notify(device, title, index === 119 ? 0 : 1);
  assert.deepEqual(await take(slow, titles.length), titles, 'behind a full window');
  const back = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'away' });
  assert.deepEqual(await take(back, titles.length), titles);
  await isEmpty(fixture, device);
});

test('A notification that its owner deleted is not sent to a device that connects later', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const deleted = await fixture.notify(device, 'deleted', 1);
  await fixture.notify(device, 'kept', 1);
  await fixture.store.inbox.delete(device.ownerId, [deleted], fixture.clock.now);
  const client = await RawClient.signIn(fixture.port, device, { clean: true });
  await client.subscribe([device.topic], 1);
  assert.deepEqual(await take(client, 1), ['kept']);
  await isEmpty(fixture, device);
});

test('A device that catches up while messages arrive gets all of them in order', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const titles = Array.from({ length: 3000 }, (_, index) => `message ${index}`);
  for (const title of titles.slice(0, 1000)) await fixture.notify(device, title, 1);
  const client = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'kept' });
  await client.subscribe([device.topic], 1);
  const publishing = (async () => {
    for (const title of titles.slice(1000)) await fixture.notify(device, title, 1);
  })();
  assert.deepEqual(await take(client, titles.length), titles);
  await publishing;
  await isEmpty(fixture, device);
});

async function startWithLimit(
  t: Parameters<typeof BrokerFixture.start>[0],
  whenFull: QueueLimit['whenFull'],
): Promise<{ fixture: BrokerFixture; device: TestDevice; publish(title: string): Promise<string> }> {
  const fixture = await BrokerFixture.start(t, { length: 5, whenFull });
  const device = await fixture.addDevice();
  const publish = async (title: string): Promise<string> => (await fixture.tryNotify(device, title, 1)).outcome.kind;
  return { fixture, device, publish };
}

const fullEvents = (fixture: BrokerFixture) => fixture.events.filter(({ kind }) => kind === 'queue_full').length;
const droppedCount = (fixture: BrokerFixture) =>
  fixture.events.reduce((sum, event) => (event.kind === 'messages_dropped' ? sum + event.count : sum), 0);

test('At the limit new messages are retried later, and the queue reports when it has room again', async (t) => {
  const { fixture, device, publish } = await startWithLimit(t, 'wait');
  let roomCount = 0;
  fixture.broker.onRoom(() => {
    roomCount += 1;
  });
  for (let index = 0; index < 5; index += 1) assert.equal(await publish(`kept ${index}`), 'queued');
  assert.deepEqual([await publish('refused'), await publish('refused')], ['retry', 'retry']);
  assert.deepEqual([fullEvents(fixture), droppedCount(fixture), roomCount], [1, 0, 0]);
  const client = await RawClient.signIn(fixture.port, device, { clean: true });
  await client.subscribe([device.topic], 1);
  assert.deepEqual(await take(client, 5), ['kept 0', 'kept 1', 'kept 2', 'kept 3', 'kept 4']);
  await eventually('the queue has room', 5000, () => roomCount, Boolean);
  assert.equal(await publish('again'), 'sent');
});

test('With drop_newest a message beyond the limit is rejected permanently, and counted', async (t) => {
  const { fixture, publish } = await startWithLimit(t, 'drop_newest');
  for (let index = 0; index < 5; index += 1) await publish(`kept ${index}`);
  assert.deepEqual([await publish('dropped'), await publish('dropped')], ['rejected', 'rejected']);
  assert.deepEqual([fullEvents(fixture), droppedCount(fixture)], [1, 2]);
});

test('With drop_oldest the oldest become dead deliveries that their owner sees, and the newest arrive', async (t) => {
  const { fixture, device, publish } = await startWithLimit(t, 'drop_oldest');
  const kinds = await Promise.all(Array.from({ length: 30 }, (_, index) => publish(`message ${index}`)));
  assert.ok(kinds.every((kind) => kind === 'queued'));
  assert.ok((await lengthOf(fixture, device)) <= 5);
  const dead = await fixture.store.deliveries.list({ ownerId: device.ownerId, state: 'dead', limit: 100 });
  const waiting = await lengthOf(fixture, device);
  assert.equal(dead.length + waiting, 30, 'each one is queued or dead');
  assert.ok(dead.every(({ channel, target }) => channel === 'mqtt' && target === device.id));
  assert.deepEqual([fullEvents(fixture), droppedCount(fixture)], [1, dead.length]);
  const client = await RawClient.signIn(fixture.port, device, { clean: true });
  await client.subscribe([device.topic], 1);
  assert.equal((await take(client, waiting)).at(-1), 'message 29');
});

test('An abandoned session does not keep messages from connected clients', async (t) => {
  const { fixture, device, publish } = await startWithLimit(t, 'wait');
  const stale = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'stale' });
  await stale.subscribe([device.topic], 1);
  await stale.end();
  const live = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'live' });
  await live.subscribe([device.topic], 1);
  for (let index = 0; index < 20; index += 1) {
    assert.equal(await publish(`message ${index}`), 'sent');
    assert.deepEqual(await take(live, 1), [`message ${index}`]);
  }
  assert.deepEqual([fullEvents(fixture), droppedCount(fixture)], [1, 15]);
});
