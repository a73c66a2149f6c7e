// Clients that always publish: a Mosquitto bridge, and a client with birth and will messages, such as
// Home Assistant. They stay connected and get their own notifications; their publishes are discarded.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { BrokerFixture, type TestDevice, titleOf } from '@tocsin/test-support/embedded-broker.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { Subscriber } from '@tocsin/test-support/mqtt-subscriber.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import mqtt from 'mqtt';

const messages = 200;

for (const direction of ['out', 'both']) {
  for (const qos of [0, 1, 2]) {
    test(`A Mosquitto bridge with 'topic # ${direction} ${qos}' stays connected and forwards the messages of its device`, async (t) => {
      if (!canRun(t, mosquittoObstacle())) return;
      const fixture = await BrokerFixture.start(t);
      const device = await fixture.addDevice();
      const local = await startBridge(t, fixture.port, device, [
        `topic # ${direction} ${qos}`,
        `topic ${device.topic} in 1`,
      ]);
      const signIns = () => fixture.events.filter(({ kind }) => kind === 'signed_in').length;
      await eventually('the bridge signed in', 10_000, signIns, (count) => count === 1);
      const subscriber = await Subscriber.start(local.port, device.topic);
      t.after(() => subscriber.stop());

      const home = await mqtt.connectAsync(`mqtt://127.0.0.1:${local.port}`, { protocolVersion: 4 });
      t.after(() => home.endAsync(true));
      await home.publishAsync('zigbee2mqtt/bridge/devices', 'x'.repeat(300_000), { qos: 1, retain: true });
      for (let count = 0; count < messages; count += 1) {
        await home.publishAsync(`home/sensor/${count % 7}`, `${count}`, { qos: 1, retain: count % 2 === 0 });
      }
      // Repeated until the first one arrives, since the bridge subscribes after it has connected.
      await eventually(
        'a notification arrived through the bridge',
        20_000,
        async () => {
          await fixture.notify(device, 'through the bridge', 1);
          return subscriber.received.length;
        },
        (count) => count > 0,
      );
      assert.equal(titleOf((subscriber.received[0] as { payload: string }).payload), 'through the bridge');
      assert.equal(signIns(), 1, 'it never had to reconnect');
      const kinds = fixture.events.map(({ kind }) => kind);
      assert.deepEqual(
        kinds.filter((kind) => ['dropped', 'disconnected', 'failed', 'acknowledged'].includes(kind)),
        [],
      );
      assert.equal(kinds.filter((kind) => kind === 'publish_ignored').length, 1);
    });
  }
}

test('A client with birth, will and state messages stays connected, and the log has one line about it', async (t) => {
  const { gateway, device } = await startGateway(t);
  const client = await mqtt.connectAsync(gateway.line.mqtt as string, {
    protocolVersion: 4,
    username: device.id,
    password: device.secret,
    reconnectPeriod: 0,
    will: { topic: 'homeassistant/status', payload: Buffer.from('offline'), qos: 1, retain: true },
  });
  t.after(() => client.endAsync(true));
  let isClosed = false;
  client.on('close', () => {
    isClosed = true;
  });
  await client.subscribeAsync(device.topic, { qos: 1 });
  for (const qos of [0, 1, 2] as const) {
    await client.publishAsync('homeassistant/status', 'online', { qos, retain: true });
    for (let count = 0; count < 50; count += 1) await client.publishAsync(`state/${count}`, `${count}`, { qos });
  }
  const received = new Promise<string>((resolve) => client.on('message', (_, payload) => resolve(titleOf(payload))));
  const response = await fetch(gateway.api, {
    method: 'POST',
    headers: { Authorization: `Bearer ${gateway.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ title: 'Still there', body: 'Body' }),
  });
  assert.equal(response.status, 200);
  assert.equal(await received, 'Still there');
  assert.equal(isClosed, false);
  await gateway.stop();
  const lines = gateway.log.split('\n').filter((line) => line.includes('MQTT'));
  assert.equal(lines.length, 1, lines.join('\n'));
  assert.match(lines[0] as string, /"event":"publish_ignored"/);
});

async function startBridge(t: TestContext, port: number, device: TestDevice, topics: string[]): Promise<Mosquitto> {
  const settings = [
    'connection gateway',
    `address 127.0.0.1:${port}`,
    `remote_username ${device.id}`,
    `remote_password ${device.secret}`,
    'remote_clientid home-bridge',
    'restart_timeout 1',
    ...topics,
  ];
  const mosquitto = await Mosquitto.start({ settings });
  t.after(() => mosquitto.stop());
  return mosquitto;
}

async function startGateway(
  t: TestContext,
): Promise<{ gateway: GatewayProcess; device: Pick<TestDevice, 'id' | 'secret' | 'topic'> }> {
  const installation = await install(t);
  const gateway = await installation.serve();
  const { firstRun } = gateway.line;
  if (firstRun === undefined) throw new Error('This was not a first run.');
  const { id, mqtt: settings } = firstRun.device;
  return { gateway, device: { id, secret: settings.password, topic: `tocsin/${firstRun.owner}/${id}/notifications` } };
}
