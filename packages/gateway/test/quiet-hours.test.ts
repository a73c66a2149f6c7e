// Quiet hours for callers and owners: skipped channels, exceptions, and the response to the caller.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { type LocalGateway, RecordingChannel, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { type Caller, createCaller } from '@tocsin/test-support/requests.ts';
import type { EmailTarget } from '../src/channels/email/target.ts';
import type { MqttTarget } from '../src/channels/mqtt/target.ts';
import type { QuietHours } from '../src/core/quiet-hours.ts';
import type { PushTarget } from '../src/core/recipients.ts';
import { createDevice, createKey, systemEnvironment } from '../src/usecases/registration.ts';

const night = { from: '22:00', to: '07:00' };
const everywhere = { timeZone: 'Europe/Berlin', push: night, email: night, mqtt: night };
/** 23:30 in Berlin, 07:30 of the next day in Tokyo. */
const lateInBerlin = Date.parse('2026-11-15T22:30:00Z');
/** 07:00 in Berlin: the first minute after the quiet hours. */
const morningInBerlin = Date.parse('2026-11-16T06:00:00Z');

suite('In quiet hours', () => {
  const push = new RecordingChannel<PushTarget>();
  const email = new RecordingChannel<EmailTarget>();
  const mqtt = new RecordingChannel<MqttTarget>();
  let gateway: LocalGateway;
  let caller: Caller;

  before(async () => {
    gateway = await startLocalGateway({ channels: { push, email, mqtt } });
    caller = await createCaller(gateway.api, gateway.key);
  });
  after(() => gateway.stop());

  /** Creates an owner with an email address, a browser and a phone. */
  async function createOwner(quietHours: QuietHours | null) {
    const { store } = gateway;
    const ownerId = `own_${randomUUID()}`;
    await store.owners.create(plainOwner(ownerId, 0, { email: 'ann@example.com', emailAlerts: true, quietHours }));
    const wanted = { ownerId, name: 'Phone', topicPrefix: 'tocsin', urls: [] };
    const { device } = await createDevice(store, systemEnvironment, wanted);
    const target = { id: `psh_${randomUUID()}`, ownerId, provider: 'webpush', token: '{}', label: null } as const;
    await store.pushTargets.create({ ...target, createdAt: 0, disabledAt: null });
    const { value: key } = await createKey(store, systemEnvironment, { ownerId, type: 'public_client' });
    return { ownerId, deviceId: device.id, key };
  }

  /** Sends a request at that time; returns the channels that were used and the fields of the response. */
  async function notifyAt(
    quietHours: QuietHours | null,
    at: number,
    request: object | ((deviceId: string) => object | Promise<object>) = {},
  ) {
    const { ownerId, deviceId, key } = await createOwner(quietHours);
    const fields = typeof request === 'function' ? await request(deviceId) : request;
    for (const { sent } of [push, email, mqtt]) sent.splice(0);
    gateway.clock.now = at;
    const { status, body } = await caller.withKey(key).notify({ title: 'Doorbell', ...fields });
    assert.deepEqual([status, body.stored], [200, true]);
    const sentOn = Object.entries({ push, email, mqtt }).flatMap(([name, { sent }]) => (sent.length > 0 ? [name] : []));
    const { id, pushEnabled, pushAttempted, emailEnabled, emailSkipReason } = body;
    const { mqttEnabled, mqttSkipped, mqttSkipReason, warnings } = body;
    const channels = { pushEnabled, pushAttempted, emailEnabled, emailSkipReason, mqttEnabled };
    const response = { ...channels, mqttSkipped, mqttSkipReason, warnings };
    return { sentOn, response, ownerId, id };
  }

  const sentOnAll = {
    pushEnabled: true,
    pushAttempted: 1,
    emailEnabled: true,
    emailSkipReason: undefined,
    mqttEnabled: true,
    mqttSkipped: false,
    mqttSkipReason: undefined,
    warnings: [],
  };
  const silent = {
    pushEnabled: true,
    pushAttempted: 0,
    emailEnabled: false,
    emailSkipReason: 'quiet_hours',
    mqttEnabled: true,
    mqttSkipped: true,
    mqttSkipReason: 'quiet_hours',
    warnings: ['quiet_hours'],
  };

  test('nothing is sent, the response reports it, and the notification is stored and not sent later', async () => {
    const { sentOn, response, ownerId, id } = await notifyAt(everywhere, lateInBerlin);
    assert.deepEqual({ sentOn, response }, { sentOn: [], response: silent });
    assert.equal((await gateway.store.notifications.find(ownerId, id))?.content.title, 'Doorbell');
    assert.equal(await gateway.store.dispatches.find(ownerId, id), null);
  });

  test('everything is sent outside of them, also if they are in another time zone', async () => {
    const all = { sentOn: ['push', 'email', 'mqtt'], response: sentOnAll };
    for (const [quietHours, at] of [
      [null, lateInBerlin],
      [everywhere, morningInBerlin],
      [{ ...everywhere, timeZone: 'Asia/Tokyo' }, lateInBerlin],
    ] as const) {
      const { sentOn, response } = await notifyAt(quietHours, at);
      assert.deepEqual({ sentOn, response }, all);
    }
  });

  test('critical notifications are sent, and those of no other severity', async () => {
    assert.deepEqual((await notifyAt(everywhere, lateInBerlin, { severity: 'fatal' })).response, sentOnAll);
    for (const severity of ['info', 'warning', 'error']) {
      assert.deepEqual((await notifyAt(everywhere, lateInBerlin, { severity })).sentOn, []);
    }
  });

  test('each channel has its own', async () => {
    const { sentOn, response } = await notifyAt({ ...everywhere, push: null }, lateInBerlin);
    assert.deepEqual(sentOn, ['push']);
    assert.deepEqual(response, { ...silent, pushAttempted: 1 });
  });

  test('a request with sendEmail sends the email, as it does against the preference', async () => {
    const { sentOn, response } = await notifyAt(everywhere, lateInBerlin, { sendEmail: true });
    assert.deepEqual(sentOn, ['email']);
    assert.deepEqual(response, { ...silent, emailEnabled: true, emailSkipReason: undefined });
  });

  test('a device named by the request is muted too, also with strictDelivery', async () => {
    const request = { strictDelivery: true, sendPush: false, sendEmail: false };
    const { sentOn, response } = await notifyAt(everywhere, lateInBerlin, (deviceId) => ({ ...request, deviceId }));
    assert.deepEqual(
      { sentOn, response },
      { sentOn: [], response: { ...silent, pushEnabled: false, emailSkipReason: 'disabled_by_request' } },
    );
  });

  test('channels that the request disables, or that have no target, are not attributed to quiet hours', async () => {
    const off = { sendPush: false, sendEmail: false, sendMqtt: false };
    const { response } = await notifyAt(everywhere, lateInBerlin, off);
    assert.deepEqual([response.mqttSkipReason, response.warnings], ['disabled_by_request', []]);
    const noTarget = await notifyAt(everywhere, lateInBerlin, async (deviceId) => {
      await gateway.store.devices.change(deviceId, { paused: true });
      return { sendPush: false, sendEmail: false };
    });
    assert.deepEqual([noTarget.response.mqttSkipReason, noTarget.response.warnings], ['no_active_devices', []]);
  });

  test('a topic on a custom broker is sent to', async () => {
    const mqttConfig = { host: 'broker.example.com', topic: 'alerts' };
    const request = { mqttConnection: { mode: 'custom' }, mqttConfig };
    const { sentOn, response } = await notifyAt(everywhere, lateInBerlin, request);
    assert.deepEqual([sentOn, response.mqttSkipped, response.warnings], [['mqtt'], false, ['quiet_hours']]);
  });
});
