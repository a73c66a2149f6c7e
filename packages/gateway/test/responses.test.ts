// Sections 2.2, 4 and 7 over HTTP, with channels whose outcome the test sets.
import assert from 'node:assert/strict';
import { afterEach, suite, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import {
  type LocalGateway,
  type LocalOptions,
  RecordingChannel,
  startLocalGateway,
} from '@tocsin/test-support/local-gateway.ts';
import { type Caller, createCaller } from '@tocsin/test-support/requests.ts';
import type { EmailTarget } from '../src/channels/email/target.ts';
import type { MqttTarget } from '../src/channels/mqtt/target.ts';
import type { StoredDevice } from '../src/usecases/ports/index.ts';
import { EncryptionKeyMissing, StoreUnavailable } from '../src/usecases/ports/index.ts';
import { createDevice, createOwner, systemEnvironment } from '../src/usecases/registration.ts';

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

suite('The response', () => {
  let gateway: LocalGateway;
  afterEach(() => gateway.stop());

  async function start(options: LocalOptions = {}): Promise<Caller> {
    gateway = await startLocalGateway(options);
    return createCaller(gateway.api, gateway.key);
  }

  async function addDevice(name = 'Phone', ownerId = gateway.ownerId): Promise<StoredDevice> {
    return (await createDevice(gateway.store, systemEnvironment, { ownerId, name, topicPrefix: 'tocsin', urls: [] }))
      .device;
  }

  async function setEmail(email: string | null, emailAlerts: boolean): Promise<void> {
    const owner = await gateway.store.owners.find(gateway.ownerId);
    assert.ok(owner);
    await gateway.store.owners.update({ ...owner, email, emailAlerts });
  }

  test('has every field of docs/callers.md#response, an id and a requestId', async () => {
    const caller = await start();
    const { status, body, headers } = await caller.notify({ title: 'Hello', data: { a: 1 } });
    assert.equal(status, 200);
    const { id, requestId, timestamp, ...rest } = body;
    assert.match(id ?? '', uuidV7);
    assert.equal(requestId, headers.get('x-request-id'));
    assert.equal(timestamp, new Date(gateway.clock.now).toISOString());
    assert.deepEqual(rest, {
      ok: true,
      kind: 'external_notification',
      stored: true,
      payloadPreview: {
        type: 'external_notification',
        title: 'Hello',
        body: '',
        source: 'third_party',
        category: 'info',
        severity: null,
        dataKeys: ['a'],
      },
      pushSent: false,
      pushAttempted: 0,
      pushEnabled: true,
      emailEnabled: false,
      emailSent: false,
      emailSkipReason: 'no_address',
      mqttPublishedCount: 0,
      mqttFailedCount: 0,
      mqttSkipped: true,
      mqttSkipReason: 'no_active_devices',
      mqttError: null,
      warnings: [],
      mqttEnabled: true,
    });
  });

  test('counts a publish for each active device that is not paused', async () => {
    const mqtt = new RecordingChannel<MqttTarget>();
    const caller = await start({ channels: { mqtt } });
    const [first, second, paused, inactive] = [
      await addDevice(),
      await addDevice(),
      await addDevice(),
      await addDevice(),
    ];
    await gateway.store.devices.change(paused.id, { paused: true });
    await gateway.store.devices.change(inactive.id, { state: 'inactive' });
    const { body } = await caller.notify({ title: 'x', mqttQos: 2 });
    assert.equal(body.mqttPublishedCount, 2);
    assert.equal(body.mqttFailedCount, 0);
    assert.equal(body.mqttSkipped, false);
    assert.ok(!('mqttSkipReason' in body));
    assert.deepEqual(new Set(mqtt.sent.map(({ target }) => target)), new Set([{ id: first.id }, { id: second.id }]));
    assert.ok(mqtt.sent.every(({ qos, notification }) => qos === 2 && notification.id === body.id));
  });

  test('has mqttSkipped if every device is paused or inactive', async () => {
    const caller = await start();
    await gateway.store.devices.change((await addDevice()).id, { paused: true });
    const { body } = await caller.notify({ title: 'x' });
    assert.equal(body.mqttSkipped, true);
    assert.equal(body.mqttSkipReason, 'no_active_devices');
  });

  test('has mqttSkipped, and mqttEnabled false, if sendMqtt is false', async () => {
    const mqtt = new RecordingChannel<MqttTarget>();
    const caller = await start({ channels: { mqtt } });
    await addDevice();
    const { body } = await caller.notify({ title: 'x', sendMqtt: false });
    assert.equal(body.mqttEnabled, false);
    assert.equal(body.mqttSkipped, true);
    assert.equal(body.mqttSkipReason, 'disabled_by_request');
    assert.equal(mqtt.sent.length, 0);
  });

  test('reports a failed publish as a partial success', async () => {
    const mqtt = new RecordingChannel<MqttTarget>(
      { kind: 'sent' },
      { kind: 'retry', reason: 'deferred', error: 'first trouble' },
      { kind: 'rejected', reason: 'refused', error: 'second trouble' },
    );
    const caller = await start({ channels: { mqtt } });
    for (let count = 0; count < 3; count += 1) await addDevice();
    const { status, body } = await caller.notify({ title: 'x' });
    assert.equal(status, 200);
    assert.equal(body.ok, true);
    assert.equal(body.mqttPublishedCount, 1);
    assert.equal(body.mqttFailedCount, 2);
    assert.equal(body.mqttError, 'first trouble');
    assert.deepEqual(body.warnings, ['mqtt_publish_failed_partial', 'redelivery_scheduled']);
  });

  test('is 502 with every channel field when strictDelivery is set and a publish fails, and the notification stays stored', async () => {
    const mqtt = new RecordingChannel<MqttTarget>(
      { kind: 'sent' },
      { kind: 'retry', reason: 'deferred', error: 'broker gone' },
    );
    const caller = await start({ channels: { mqtt } });
    await addDevice();
    await addDevice();
    const { status, body } = await caller.notify({ title: 'strict', strictDelivery: true });
    assert.equal(status, 502);
    assert.equal(body.ok, false);
    assert.equal(body.error, 'MQTT publish failed');
    assert.equal(body.code, 'mqtt_publish_failed');
    assert.equal(body.stored, true);
    assert.equal(body.mqttFailedCount, 1);
    assert.equal(body.mqttPublishedCount, 1);
    assert.equal(body.mqttError, 'broker gone');
    assert.deepEqual(body.warnings, [], 'the warning is only for partial success');
    const page = await gateway.store.notifications.list(gateway.ownerId, { limit: 10 });
    assert.deepEqual(
      page.notifications.map(({ id }) => id),
      [body.id],
    );
  });

  test('is 200 and skipped if strictDelivery is set and there is no target', async () => {
    const caller = await start();
    const { status, body } = await caller.notify({ title: 'x', strictDelivery: true });
    assert.equal(status, 200);
    assert.equal(body.mqttSkipped, true);
  });

  test('covers only the device that deviceId names', async () => {
    const mqtt = new RecordingChannel<MqttTarget>();
    const caller = await start({ channels: { mqtt } });
    await addDevice();
    const target = await addDevice();
    const { body } = await caller.notify({ title: 'x', deviceId: target.id });
    assert.equal(body.mqttPublishedCount, 1);
    assert.deepEqual(
      mqtt.sent.map((sent) => sent.target),
      [{ id: target.id }],
    );
  });

  for (const [situation, change] of [
    ['paused', { paused: true }],
    ['inactive', { state: 'inactive' }],
    ['inactive and paused', { state: 'inactive', paused: true }],
  ] as const) {
    test(`is 409 when the device is ${situation}, and nothing is stored or sent`, async () => {
      const mqtt = new RecordingChannel<MqttTarget>();
      const caller = await start({ channels: { mqtt } });
      const { id } = await addDevice();
      await gateway.store.devices.change(id, change);
      const { status, body } = await caller.notify({ title: 'x', deviceId: id });
      assert.equal(status, 409);
      assert.equal(body.error, 'Device is inactive or paused');
      assert.equal(body.code, 'device_not_publishable');
      assert.equal(mqtt.sent.length, 0);
      assert.equal((await gateway.store.notifications.list(gateway.ownerId, { limit: 1 })).notifications.length, 0);
    });
  }

  test('is 404 for a device of another owner, byte for byte as for an unknown one', async () => {
    const caller = await start();
    const other = await createOwner(gateway.store, systemEnvironment, {
      name: 'Other',
      email: null,
      emailAlerts: false,
    });
    const foreign = await addDevice('Foreign', other.id);
    const bodies = [];
    for (const deviceId of [foreign.id, 'dev_0000000000000000', '../x', '+', '#', ' x y ']) {
      const { status, body } = await caller.notify({ title: 'x', deviceId });
      assert.equal(status, 404, deviceId);
      const { requestId: _, ...rest } = body;
      bodies.push(rest);
    }
    assert.equal(bodies[0]?.error, 'Device not found for user');
    assert.equal(bodies[0]?.code, 'device_not_found');
    for (const body of bodies) assert.deepEqual(body, bodies[0]);
    assert.equal((await gateway.store.notifications.list(gateway.ownerId, { limit: 1 })).notifications.length, 0);
  });

  test('is 404 for an unknown deviceId even when sendMqtt is false', async () => {
    const caller = await start();
    assert.equal((await caller.notify({ title: 'x', deviceId: 'dev_x', sendMqtt: false })).status, 404);
  });

  test('follows the account preference for email unless sendEmail is set', async () => {
    const email = new RecordingChannel<EmailTarget>();
    const caller = await start({ channels: { email } });
    await setEmail('ann@example.com', true);
    const preferred = await caller.notify({ title: 'x' });
    assert.equal(preferred.body.emailEnabled, true);
    assert.equal(preferred.body.emailSent, true);
    const refused = await caller.notify({ title: 'x', sendEmail: false });
    assert.equal(refused.body.emailEnabled, false);
    assert.equal(refused.body.emailSent, false);
    await setEmail('ann@example.com', false);
    const asked = await caller.notify({ title: 'x', sendEmail: true });
    assert.equal(asked.body.emailEnabled, true);
    assert.equal(asked.body.emailSent, true);
    assert.deepEqual(
      email.sent.map(({ target }) => target.address),
      ['ann@example.com', 'ann@example.com'],
    );
  });

  test('has a warning if email was enabled and not accepted', async () => {
    const email = new RecordingChannel<EmailTarget>({ kind: 'rejected', reason: 'refused', error: 'no such mailbox' });
    const caller = await start({ channels: { email } });
    await setEmail('ann@example.com', true);
    const { body } = await caller.notify({ title: 'x' });
    assert.equal(body.emailSent, false);
    assert.deepEqual(body.warnings, ['email_send_failed']);
  });

  test('has a warning if email was requested and the owner has no address', async () => {
    const caller = await start();
    const { body } = await caller.notify({ title: 'x', sendEmail: true });
    assert.equal(body.emailEnabled, true);
    assert.deepEqual(body.warnings, ['email_send_failed']);
  });

  test('has a reason if no email was attempted, and none if one was', async () => {
    const email = new RecordingChannel<EmailTarget>({ kind: 'retry', reason: 'deferred', error: 'mailbox full' });
    const caller = await start({ channels: { email } });
    const reasonFor = async (request: object) => (await caller.notify({ title: 'x', ...request })).body.emailSkipReason;
    for (const [request, expected] of [
      [{}, 'no_address'],
      [{ sendEmail: true }, 'no_address'],
      [{ sendEmail: false }, 'disabled_by_request'],
    ] as const) {
      assert.equal(await reasonFor(request), expected, JSON.stringify(request));
    }
    await setEmail('ann@example.com', false);
    await eventually(
      'the address is known',
      5000,
      () => reasonFor({}),
      (reason) => reason === 'disabled_by_owner',
    );
    assert.equal(await reasonFor({ sendEmail: false }), 'disabled_by_request');
    assert.equal(email.sent.length, 0);
    const { body } = await caller.notify({ title: 'x', sendEmail: true });
    assert.ok(!('emailSkipReason' in body), 'an attempt that failed was not skipped');
    await setEmail('ann@example.com', true);
    await eventually(
      'email is enabled',
      5000,
      () => reasonFor({}),
      (reason) => reason === undefined,
    );
  });

  test('names the missing provider if a channel has targets but none is configured', async () => {
    const caller = await start();
    await addDevice();
    await setEmail('ann@example.com', true);
    const { status, body } = await caller.notify({ title: 'x' });
    assert.equal(status, 200);
    assert.equal(body.mqttFailedCount, 1);
    assert.equal(body.mqttError, 'MQTT is not configured');
    assert.equal(body.emailSent, false);
    assert.equal(body.emailSkipReason, 'not_configured');
    assert.deepEqual(body.warnings, ['mqtt_publish_failed_partial', 'email_send_failed']);
  });

  test('counts one publish to the topic of a custom broker, however many devices there are', async () => {
    const mqtt = new RecordingChannel<MqttTarget>();
    const caller = await start({ channels: { mqtt } });
    await addDevice();
    const mqttConfig = { host: 'broker.example.com', topic: 'alerts/all' };
    const { body } = await caller.notify({ title: 'x', mqttConnection: { mode: 'custom' }, mqttConfig });
    assert.equal(body.mqttPublishedCount, 1);
    assert.deepEqual(
      mqtt.sent.map(({ target }) => target),
      [{ id: '', topic: 'alerts/all' }],
    );
  });

  for (const [reason, error] of [
    ['store_unavailable', new StoreUnavailable('disk full')],
    ['encryption_key_missing', new EncryptionKeyMissing('no data key')],
  ] as const) {
    test(`has stored false with storeReason ${reason}, and the channels still deliver`, async () => {
      const mqtt = new RecordingChannel<MqttTarget>();
      const caller = await start({
        channels: { mqtt },
        wrapStore: (store) => ({
          ...store,
          notifications: { ...store.notifications, save: () => Promise.reject(error) },
        }),
      });
      await addDevice();
      const { status, body } = await caller.notify({ title: 'x' });
      assert.equal(status, 200);
      assert.equal(body.ok, true);
      assert.equal(body.stored, false);
      assert.equal(body.storeReason, reason);
      assert.equal(body.mqttPublishedCount, 1);
    });
  }

  test('follows the save, and so does every delivery', async () => {
    const order: string[] = [];
    const caller = await start({
      channels: {
        mqtt: {
          send: async (_, targets) => {
            order.push('delivered');
            return targets.map(() => ({ kind: 'sent' }));
          },
        },
      },
      wrapStore: (store) => ({
        ...store,
        notifications: {
          ...store.notifications,
          save: async (...saved) => {
            const outcome = await store.notifications.save(...saved);
            order.push('stored');
            return outcome;
          },
        },
      }),
    });
    await addDevice();
    await caller.notify({ title: 'x' });
    assert.deepEqual(order, ['stored', 'delivered']);
  });

  test('is an opaque 500 for an internal error, whose cause is only in the log', async () => {
    const caller = await start({
      wrapStore: (store) => ({
        ...store,
        notifications: { ...store.notifications, save: () => Promise.reject(new Error('a bug at /secret/path')) },
      }),
    });
    const { status, body } = await caller.notify({ title: 'x' });
    assert.equal(status, 500);
    assert.equal(body.error, 'Internal error');
    assert.equal(body.code, 'internal');
    assert.ok(!JSON.stringify(body).includes('secret'));
    assert.match(String(gateway.failures[0]), /a bug/);
  });

  test('has ids that increase in the order of acceptance', async () => {
    const caller = await start();
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1)
      ids.push((await caller.notify({ title: `${count}` })).body.id as string);
    assert.deepEqual(ids, [...ids].sort());
    assert.equal(new Set(ids).size, ids.length);
  });
});
