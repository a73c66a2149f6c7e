// The whole service with its channels as an owner uses it: started by its command, with real receivers at the other
// end.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { install, installWithSmtp, serveWithEmail } from '@tocsin/test-support/install.ts';
import { Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { Subscriber } from '@tocsin/test-support/mqtt-subscriber.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { connectAsync } from 'mqtt';

interface Device {
  id: string;
  owner: string;
  mqtt: { username: string; password: string; topic: string; urls: string[] };
}

const firstDevice = (gateway: GatewayProcess): Device => gateway.line.firstRun?.device as unknown as Device;

/** mosquitto_sub with the printed credentials. */
async function listenAs(
  t: TestContext,
  gateway: GatewayProcess,
  device: Device,
  ...args: string[]
): Promise<Subscriber> {
  const { port } = new URL(gateway.line.mqtt as string);
  const { username, password, topic } = device.mqtt;
  const credentials = ['-V', '311', '-u', username, '-P', password];
  const subscriber = await Subscriber.start(Number(port), topic, [...credentials, ...args]);
  t.after(() => subscriber.stop());
  return subscriber;
}

suite('With the embedded broker', () => {
  test('mosquitto_sub with the printed credentials receives the notification over TCP, and the response counts it', async (t) => {
    if (!canRun(t, mosquittoObstacle())) return;
    const gateway = await (await install(t)).serve();
    const device = firstDevice(gateway);
    const subscriber = await listenAs(t, gateway, device);
    const { body } = await notify(gateway, { title: 'Alarm', body: 'alarm', severity: 'warn', data: { host: 'db-1' } });
    assert.equal(body.mqttPublishedCount, 1);
    assert.equal(body.mqttFailedCount, 0);
    assert.deepEqual(body.warnings, []);
    const [message] = await subscriber.take(1);
    assert.equal(message?.topic, device.mqtt.topic);
    assert.equal(message?.retained, false);
    const { createdAt, ...rest } = JSON.parse(message?.payload ?? '') as Record<string, unknown>;
    assert.ok(!Number.isNaN(Date.parse(createdAt as string)));
    assert.deepEqual(rest, {
      id: body.id,
      type: 'external_notification',
      title: 'Alarm',
      body: 'alarm',
      source: 'third_party',
      category: 'info',
      severity: 'warning',
      data: { host: 'db-1' },
    });
  });

  test('a client receives it over WebSocket at the address that the device was given', async (t) => {
    const gateway = await (await install(t)).serve();
    const { mqtt } = firstDevice(gateway);
    const url = mqtt.urls.find((each) => each.startsWith('ws:')) as string;
    const { username, password } = mqtt;
    const client = await connectAsync(url, { username, password, reconnectPeriod: 0 });
    t.after(() => client.endAsync(true));
    await client.subscribeAsync(mqtt.topic, { qos: 1 });
    const message = new Promise<Buffer>((resolve) => client.once('message', (_topic, payload) => resolve(payload)));
    await notify(gateway, { title: 'Over WebSocket' });
    assert.equal((JSON.parse(String(await message)) as { title: string }).title, 'Over WebSocket');
  });

  test('a device that was offline receives its messages when it reconnects, also after a restart of the service', async (t) => {
    if (!canRun(t, mosquittoObstacle())) return;
    const installation = await install(t);
    const first = await installation.serve();
    const device = firstDevice(first);
    const session = ['-c', '-i', 'phone'];
    await (await listenAs(t, first, device, ...session)).stop();
    assert.equal((await notify(first, { title: 'while away' })).body.mqttPublishedCount, 1);
    assert.equal(await first.stop(), 0);
    const second = await installation.serve();
    const target = { api: second.api, key: first.key };
    assert.equal((await notify(target, { title: 'after the restart' })).body.mqttPublishedCount, 1);
    const messages = await (await listenAs(t, second, device, ...session)).take(2);
    const titles = messages.map(({ payload }) => (JSON.parse(payload) as { title: string }).title);
    assert.deepEqual(titles, ['while away', 'after the restart']);
  });

  test('tocsin device test delivers to the device through the running server', async (t) => {
    if (!canRun(t, mosquittoObstacle())) return;
    const installation = await install(t);
    const gateway = await installation.serve();
    const device = firstDevice(gateway);
    const subscriber = await listenAs(t, gateway, device);
    const { port } = new URL(gateway.api);
    const result = await installation.run(['device', 'test', device.id], { TOCSIN_PORT: port });
    assert.equal(result.exitCode, 0, result.stderr);
    const [message] = await subscriber.take(1);
    assert.equal((JSON.parse(message?.payload ?? '') as { title: string }).title, 'Test from Tocsin');
    const down = await installation.run(['device', 'test', device.id], { TOCSIN_PORT: '1' });
    assert.equal(down.exitCode, 1);
    assert.match(down.stderr, /No server responds/);
  });
});

suite("With the operator's broker", () => {
  test('notifications are published to Mosquitto, and while it is down the response reports it at once', async (t) => {
    if (!canRun(t, mosquittoObstacle())) return;
    const broker = await Mosquitto.start({ users: { gateway: 'broker-secret', phone: 'phone-secret' } });
    t.after(() => broker.stop());
    const installation = await install(t, {
      TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${broker.port}`,
      TOCSIN_MQTT_USERNAME: 'gateway',
      TOCSIN_MQTT_PASSWORD: 'broker-secret',
    });
    const gateway = await installation.serve();
    const device = firstDevice(gateway);
    assert.equal(gateway.line.mqtt, undefined);
    assert.deepEqual(device.mqtt.urls, [`mqtt://127.0.0.1:${broker.port}`]);
    const subscriber = await Subscriber.start(broker.port, device.mqtt.topic, [
      '-V',
      '5',
      '-u',
      'phone',
      '-P',
      'phone-secret',
    ]);
    t.after(() => subscriber.stop());
    const send = () => notify(gateway, { title: 'Through Mosquitto' });
    await eventually('the gateway is connected', 10_000, send, ({ body }) => body.mqttPublishedCount === 1);
    const message = (await subscriber.take(1)).at(-1);
    assert.equal(message?.contentType, 'application/json');
    await broker.kill();
    const { body } = await eventually(
      'the gateway notices the disconnection',
      10_000,
      send,
      ({ body }) => body.mqttFailedCount === 1,
    );
    assert.equal(body.mqttPublishedCount, 0);
    assert.ok(body.mqttError);
    assert.deepEqual(body.warnings, ['mqtt_publish_failed_partial', 'redelivery_scheduled']);
    const strict = await notify(gateway, { title: 'strict', strictDelivery: true });
    assert.equal(strict.status, 502);
    await broker.run();
    await eventually('the gateway is connected again', 20_000, send, ({ body }) => body.mqttPublishedCount === 1);
    assert.ok(!gateway.log.includes('broker-secret'));
  });
});

suite('With an SMTP server', () => {
  test('email arrives, the response reports it, and a server that is down is reported', async (t) => {
    const { installation, smtp: server } = await installWithSmtp(t, {
      TOCSIN_EMAIL_FROM: 'Tocsin <tocsin@example.com>',
    });
    const gateway = await serveWithEmail(installation);
    const owner = gateway.line.firstRun?.owner as string;
    const send = () => notify(gateway, { title: 'Disk almost full', severity: 'critical', sendMqtt: false });
    const { body } = await eventually('the new address is known', 5000, send, ({ body }) => body.emailEnabled);
    assert.equal(body.emailSent, true);
    assert.deepEqual(server.emails.at(-1)?.recipients, ['ann@example.com']);
    assert.match(server.emails.at(-1)?.raw ?? '', /Disk almost full/);
    const result = await installation.run(['owner', 'test-email', owner]);
    assert.equal(result.exitCode, 0, result.stdout + result.stderr);
    assert.match(server.emails.at(-1)?.raw ?? '', /Test from Tocsin/);
    await server.kill();
    const failed = await send();
    assert.equal(failed.status, 200);
    assert.equal(failed.body.emailSent, false);
    assert.deepEqual(failed.body.warnings, ['email_send_failed', 'redelivery_scheduled']);
    const doctor = await installation.run(['doctor']);
    assert.equal(doctor.exitCode, 1);
    assert.match(doctor.stdout, /FAILED +email:/);
  });
});
