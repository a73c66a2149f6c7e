// Deliveries to a device that was offline: sessions with QoS 1 and 2, over reconnects and restarts of the service.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { BrokerFixture, type TestDevice, titleOf, topicPrefix } from '@tocsin/test-support/embedded-broker.ts';
import { MosquittoSub, mosquittoObstacle } from '@tocsin/test-support/embedded-mosquitto.ts';
import { messageIdOf, packetType, RawClient, readPublish } from '@tocsin/test-support/embedded-raw-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { findTraces } from '@tocsin/test-support/find-traces.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { createEmbeddedBroker } from '../src/channels/mqtt/embedded/index.ts';
import { limits } from '../src/channels/mqtt/embedded/limits.ts';
import { StoreUnavailable } from '../src/usecases/ports/index.ts';

const dayMs = 24 * 60 * 60 * 1000;

// One QoS at a time: MQTT promises no order between them (section 4.6), and this client emits QoS 2 only at PUBREL.
for (const qos of [1, 2] as const) {
  for (const isRestarted of [false, true]) {
    const happens = isRestarted ? 'reconnects after a restart of the service' : 'reconnects';
    test(`mosquitto_sub with QoS ${qos} that ${happens} gets the messages it missed, in order and once each`, async (t) => {
      if (!canRun(t, mosquittoObstacle())) return;
      const fixture = await BrokerFixture.start(t);
      const device = await fixture.addDevice();
      const subscribe = () => new MosquittoSub(t, fixture, device, '-t', device.topic, '-q', '2', '-c', '-i', 'keeper');
      const before = await subscribe().subscribed();
      await fixture.notify(device, 'while it was connected', qos);
      await before.titles(1);
      await queueIsEmpty(fixture);
      await before.stop();

      // More than the in-flight window.
      const titles = Array.from({ length: limits.inFlight * 2 + 50 }, (_, index) => `missed ${index}`);
      for (const title of titles) await fixture.notify(device, title, qos);
      if (isRestarted) await fixture.restart();

      const after = subscribe();
      assert.deepEqual(await after.titles(titles.length), titles);
      await fixture.notify(device, 'back again', qos);
      assert.deepEqual(await after.titles(titles.length + 1), [...titles, 'back again']);
      assert.ok(after.received.every((message) => message.qos === qos));
      await queueIsEmpty(fixture);
    });
  }
}

test('A QoS 2 message keeps its id through lost connections and a restart, and is delivered once', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const signIn = () => RawClient.signIn(fixture.port, device, { clean: false, clientId: 'two' });
  let client = await signIn();
  assert.deepEqual(await client.subscribe([device.topic], 2), [2]);
  await fixture.notify(device, 'exactly once', 2);
  const first = readPublish(await client.next('publish'));
  assert.deepEqual([first.qos, first.dup, titleOf(first.payload)], [2, false, 'exactly once']);
  await client.end();

  await fixture.restart();
  client = await signIn();
  const second = readPublish(await client.next('publish'));
  assert.deepEqual(
    [second.messageId, second.dup, second.payload.toString()],
    [first.messageId, true, first.payload.toString()],
  );
  const messageId = first.messageId as number;
  client.confirm('pubrec', messageId);
  assert.equal(messageIdOf(await client.next('pubrel')), messageId);
  await client.end();

  await fixture.restart();
  client = await signIn();
  assert.equal(messageIdOf(await client.next('pubrel')), messageId);
  client.confirm('pubcomp', messageId);
  await fixture.notify(device, 'next', 2);
  assert.equal(titleOf(readPublish(await client.next('publish')).payload), 'next');
  await client.end();
});

test('A QoS 1 message that was not acknowledged is sent again with the same id, an acknowledged one is not', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  const signIn = () => RawClient.signIn(fixture.port, device, { clean: false, clientId: 'one' });
  let client = await signIn();
  await client.subscribe([device.topic], 1);
  await fixture.notify(device, 'confirmed', 1);
  client.confirm('puback', readPublish(await client.next('publish')).messageId as number);
  await fixture.notify(device, 'not confirmed', 1);
  const { messageId } = readPublish(await client.next('publish'));
  await client.end();

  client = await signIn();
  const again = readPublish(await client.next('publish'));
  assert.deepEqual([again.messageId, again.dup, titleOf(again.payload)], [messageId, true, 'not confirmed']);
  await client.end();

  await fixture.restart();
  client = await signIn();
  const last = readPublish(await client.next('publish'));
  assert.equal(titleOf(last.payload), 'not confirmed');
  client.confirm('puback', last.messageId as number);
  await client.ping();
  assert.deepEqual(client.packets, []);
});

test('A client that reads but never acknowledges gets at most one window of messages', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { device, client } = await keepSession(fixture);
  const all = Array.from({ length: limits.inFlight + 50 }, (_, index) => `message ${index}`);
  await Promise.all(all.map((title) => fixture.notify(device, title, 1)));
  await eventually(
    'the window is full',
    5000,
    () => client.packets.length,
    (count) => count === limits.inFlight,
  );
  await client.ping();
  assert.equal(client.packets.length, limits.inFlight);
  const titles = new Set<string>();
  for (let count = 0; count < all.length; count += 1) {
    const { messageId, payload } = readPublish(await client.next('publish'));
    titles.add(titleOf(payload));
    client.confirm('puback', messageId as number);
  }
  assert.deepEqual(titles, new Set(all));
});

test('A client that keeps reconnecting while messages are published gets every QoS 2 message once', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { device, client } = await keepSession(fixture);
  await client.end();
  const all = Array.from({ length: 600 }, (_, index) => `message ${index}`);
  const publishing = Promise.all(all.map((title) => fixture.notify(device, title, 2)));
  const delivered: string[] = [];
  /** The receiver of section 4.3.3: a message is delivered at PUBLISH, and its id is known until PUBREL. */
  const knownIds = new Set<number>();
  let isWhole = false;
  while (!isWhole) {
    const visitor = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'kept' });
    const leaveAfter = 20 + Math.floor(Math.random() * 200);
    for (let count = 0; count < leaveAfter && !isWhole; count += 1) {
      const packet = await visitor.nextOf(['publish', 'pubrel']);
      if (packet.type === packetType.publish) {
        const { messageId, payload } = readPublish(packet);
        if (!knownIds.has(messageId as number)) delivered.push(titleOf(payload));
        knownIds.add(messageId as number);
        visitor.confirm('pubrec', messageId as number);
      } else {
        knownIds.delete(messageIdOf(packet));
        visitor.confirm('pubcomp', messageIdOf(packet));
      }
      isWhole = delivered.length >= all.length && knownIds.size === 0;
    }
    await visitor.end();
  }
  await publishing;
  assert.equal(delivered.length, all.length);
  assert.deepEqual(new Set(delivered), new Set(all));
});

test('Only the encrypted notification of a queued message is on disk', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { device, client } = await keepSession(fixture);
  await client.end();
  const canary = 'canary-7f3b91-of-a-waiting-message';
  await fixture.notify(device, canary, 1);
  await fixture.notify(device, canary, 2);
  assert.equal(countWaiting(fixture), 2);
  const files = readdirSync(fixture.dataDir);
  assert.ok(files.includes('tocsin.db'));
  for (const file of files) {
    const traces = findTraces(readFileSync(join(fixture.dataDir, file)), { canary, secret: device.secret });
    assert.deepEqual(traces, [], file);
  }
});

test('A notification that was purged in the meantime is skipped, and the next ones are delivered', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { device, client } = await keepSession(fixture);
  await client.end();
  await fixture.notify(device, 'old', 1);
  await fixture.notify(device, 'old', 2);
  fixture.clock.now += 10 * dayMs;
  await fixture.notify(device, 'new', 2);
  assert.equal(await fixture.store.maintenance.purge(fixture.clock.now - dayMs, fixture.clock.now), 2);
  await fixture.restart();
  const back = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'kept' });
  assert.equal(titleOf(readPublish(await back.next('publish')).payload), 'new');
  await eventually(
    'the purged messages are no longer queued',
    5000,
    () => countWaiting(fixture),
    (count) => count === 1,
  );
  const countDropped = () =>
    fixture.events.reduce((sum, event) => {
      return event.kind === 'messages_dropped' && event.reason === 'notification_deleted' ? sum + event.count : sum;
    }, 0);
  await eventually('both were counted', 5000, countDropped, (count) => count === 2);
});

test('Messages queued for a session that a clean session replaces go to the client that replaced it', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { device, client } = await keepSession(fixture);
  await client.end();
  await fixture.notify(device, 'missed', 1);
  const clean = await RawClient.signIn(fixture.port, device, { clean: true, clientId: 'kept' });
  assert.deepEqual(await fixture.store.mqttSessions.list(), []);
  assert.equal(countWaiting(fixture), 1);
  await clean.subscribe([device.topic], 1);
  const { messageId, payload } = readPublish(await clean.next('publish'));
  assert.equal(titleOf(payload), 'missed');
  clean.confirm('puback', messageId as number);
  await queueIsEmpty(fixture);
});

test('A session whose client stays away expires, and one whose client is connected does not', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { device, client } = await keepSession(fixture);
  const absent = await keepSession(fixture);
  await absent.client.end();
  await fixture.notify(absent.device, 'missed', 1);
  fixture.clock.now += 29 * dayMs;
  assert.equal(await fixture.broker.purge(), 0);
  fixture.clock.now += 2 * dayMs;
  assert.equal(await fixture.broker.purge(), 1);
  assert.deepEqual(
    (await fixture.store.mqttSessions.list()).map(({ deviceId }) => deviceId),
    [device.id],
  );
  const back = await RawClient.signIn(fixture.port, absent.device, { clean: false, clientId: 'kept' });
  await fixture.notify(device, 'still subscribed', 1);
  assert.equal(titleOf(readPublish(await client.next('publish')).payload), 'still subscribed');
  await back.ping();
  assert.deepEqual(back.packets, [], 'it has no subscription any longer');
  await back.subscribe([absent.device.topic], 1);
  assert.equal(titleOf(readPublish(await back.next('publish')).payload), 'missed', 'the queued message is still there');
});

test('Deleting a device deletes its sessions and their queued messages', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { device, client } = await keepSession(fixture);
  await client.end();
  await fixture.notify(device, 'missed', 1);
  await fixture.store.devices.delete(device.id);
  assert.deepEqual([await fixture.store.mqttSessions.list(), countWaiting(fixture)], [[], 0]);
  assert.equal(await fixture.broker.purge(), 0);
});

test('A device with too many sessions loses the one that was offline longest', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const device = await fixture.addDevice();
  for (let count = 0; count <= limits.sessionsPerDevice; count += 1) {
    fixture.clock.now += 1000;
    const client = await RawClient.signIn(fixture.port, device, { clean: false, clientId: `client ${count}` });
    await client.subscribe([device.topic], 1);
    await client.end();
  }
  const names = (await fixture.store.mqttSessions.list()).map(({ clientId }) => clientId);
  assert.equal(names.length, limits.sessionsPerDevice);
  assert.ok(!names.includes('client 0'), names.join());
});

test('A message that is published again while it is queued, as after a timeout, is delivered once', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { device, client } = await keepSession(fixture);
  await client.end();
  const id = await fixture.notify(device, 'published twice', 2);
  const notification = await fixture.store.notifications.find(device.ownerId, id);
  assert.ok(notification);
  assert.deepEqual(await fixture.publish(device, notification, 2), { kind: 'sent' });
  const back = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'kept' });
  await back.next('publish');
  await back.ping();
  assert.deepEqual(back.packets, []);
});

test('A message that cannot be persisted for a session is not reported as sent', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { device, client } = await keepSession(fixture);
  await client.end();
  const enqueue = () => Promise.reject(new StoreUnavailable('the disk is full'));
  const store = { ...fixture.store, mqttQueues: { ...fixture.store.mqttQueues, enqueue } };
  const broker = await createEmbeddedBroker({ store, topicPrefix, now: Date.now });
  t.after(() => broker.close());
  const { ownerId, id: deviceId } = device;
  const message = {
    topic: device.topic,
    payload: Buffer.from('{}'),
    expiresAt: null,
    notification: { id: 'x', ownerId, deviceId },
  };
  for (const qos of [0, 1, 2] as const) {
    assert.equal((await broker.publish({ ...message, qos }, AbortSignal.timeout(5000))).kind, 'retry', `QoS ${qos}`);
  }
});

async function keepSession(fixture: BrokerFixture): Promise<{ device: TestDevice; client: RawClient }> {
  const device = await fixture.addDevice();
  const client = await RawClient.signIn(fixture.port, device, { clean: false, clientId: 'kept' });
  assert.deepEqual(await client.subscribe([device.topic], 2), [2]);
  return { device, client };
}

const queueIsEmpty = (fixture: BrokerFixture) =>
  eventually(
    'nothing is queued',
    5000,
    () => countWaiting(fixture),
    (count) => count === 0,
  );

function countWaiting({ dataDir }: BrokerFixture): number {
  const db = new DatabaseSync(join(dataDir, 'tocsin.db'), { readOnly: true });
  try {
    return db.prepare('SELECT count(*) AS count FROM mqtt_waiting').get()?.count as number;
  } finally {
    db.close();
  }
}

test('A message whose notification could not be stored reaches connected clients, and is not promised to offline ones', async (t) => {
  const fixture = await BrokerFixture.start(t);
  const { device, client } = await keepSession(fixture);
  const send = (id: string) =>
    fixture.broker.publish(
      {
        topic: device.topic,
        payload: Buffer.from(JSON.stringify({ title: id })),
        qos: 1,
        expiresAt: null,
        notification: { id, ownerId: device.ownerId, deviceId: device.id, isStored: false },
      },
      AbortSignal.timeout(5000),
    );
  assert.deepEqual(await send('there'), { kind: 'sent' });
  assert.equal(titleOf(readPublish(await client.next('publish')).payload), 'there');
  await client.end();
  const outcome = await eventually(
    'the session is offline',
    5000,
    () => send('away'),
    ({ kind }) => kind !== 'sent',
  );
  assert.equal(outcome.kind, 'retry');
  assert.equal(countWaiting(fixture), 0);
});
