// Quiet hours as callers and owners meet them: what is left out, what rings all the same, and what the caller is told.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { type LocalGateway, RecordingChannel, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { type Caller, createCaller } from '@tocsin/test-support/requests.ts';
import type { QuietHours } from '../src/core/quiet-hours.ts';
import type { Channels } from '../src/usecases/ports/index.ts';
import { createDevice, createKey, systemEnvironment } from '../src/usecases/registration.ts';

type TargetOf<C extends keyof Channels> = Parameters<Channels[C]['send']>[1][number];

const night = { from: '22:00', to: '07:00' };
const everywhere = { timeZone: 'Europe/Berlin', push: night, email: night, mqtt: night };
/** 23:30 in Berlin, 07:30 of the next day in Tokyo. */
const lateInBerlin = Date.parse('2026-11-15T22:30:00Z');
/** 07:00 in Berlin: the first minute after. */
const morningInBerlin = Date.parse('2026-11-16T06:00:00Z');

suite('In quiet hours', () => {
  const push = new RecordingChannel<TargetOf<'push'>>();
  const email = new RecordingChannel<TargetOf<'email'>>();
  const mqtt = new RecordingChannel<TargetOf<'mqtt'>>();
  let gateway: LocalGateway;
  let caller: Caller;

  before(async () => {
    gateway = await startLocalGateway({ channels: { push, email, mqtt } });
    caller = await createCaller(gateway.api, gateway.key);
  });
  after(() => gateway.stop());

  /** Somebody with a mailbox, a browser and a phone. */
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

  /** Which channels rang for a request at that time, and what its caller was told. */
  async function ring(
    quietHours: QuietHours | null,
    at: number,
    request: object | ((deviceId: string) => object | Promise<object>) = {},
  ) {
    const { ownerId, deviceId, key } = await createOwner(quietHours);
    const fields = typeof request === 'function' ? await request(deviceId) : request;
    for (const { sent } of [push, email, mqtt]) sent.splice(0);
    gateway.clock.now = at;
    const { status, body } = await caller.withKey(key).notify({ title: 'Ring', ...fields });
    assert.deepEqual([status, body.stored], [200, true]);
    const rang = Object.entries({ push, email, mqtt }).flatMap(([name, { sent }]) => (sent.length > 0 ? [name] : []));
    const { id, pushEnabled, pushAttempted, emailEnabled, emailSkipReason } = body;
    const { mqttEnabled, mqttSkipped, mqttSkipReason, warnings } = body;
    const channels = { pushEnabled, pushAttempted, emailEnabled, emailSkipReason, mqttEnabled };
    const told = { ...channels, mqttSkipped, mqttSkipReason, warnings };
    return { rang, told, ownerId, id };
  }

  const rungAtAll = {
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

  test('nothing rings, the caller is told so, and the notification is stored and not sent later', async () => {
    const { rang, told, ownerId, id } = await ring(everywhere, lateInBerlin);
    assert.deepEqual({ rang, told }, { rang: [], told: silent });
    assert.equal((await gateway.store.notifications.find(ownerId, id))?.title, 'Ring');
    assert.equal(await gateway.store.dispatches.find(ownerId, id), null);
  });

  test('everything rings outside of them, and where they are those of another zone', async () => {
    const all = { rang: ['push', 'email', 'mqtt'], told: rungAtAll };
    for (const [quietHours, at] of [
      [null, lateInBerlin],
      [everywhere, morningInBerlin],
      [{ ...everywhere, timeZone: 'Asia/Tokyo' }, lateInBerlin],
    ] as const) {
      const { rang, told } = await ring(quietHours, at);
      assert.deepEqual({ rang, told }, all);
    }
  });

  test('critical rings all the same, and no other severity does', async () => {
    assert.deepEqual((await ring(everywhere, lateInBerlin, { severity: 'fatal' })).told, rungAtAll);
    for (const severity of ['info', 'warning', 'error']) {
      assert.deepEqual((await ring(everywhere, lateInBerlin, { severity })).rang, []);
    }
  });

  test('each channel has its own', async () => {
    const { rang, told } = await ring({ ...everywhere, push: null }, lateInBerlin);
    assert.deepEqual(rang, ['push']);
    assert.deepEqual(told, { ...silent, pushAttempted: 1 });
  });

  test('a request that asks for mail outright gets it, as it does over the preference', async () => {
    const { rang, told } = await ring(everywhere, lateInBerlin, { sendEmail: true });
    assert.deepEqual(rang, ['email']);
    assert.deepEqual(told, { ...silent, emailEnabled: true, emailSkipReason: undefined });
  });

  test('a device named by the request is silent too, also with strictDelivery', async () => {
    const request = { strictDelivery: true, sendPush: false, sendEmail: false };
    const { rang, told } = await ring(everywhere, lateInBerlin, (deviceId) => ({ ...request, deviceId }));
    assert.deepEqual(
      { rang, told },
      { rang: [], told: { ...silent, pushEnabled: false, emailSkipReason: 'disabled_by_request' } },
    );
  });

  test('what the request switched off, or would reach nobody, is not put down to them', async () => {
    const off = { sendPush: false, sendEmail: false, sendMqtt: false };
    const { told } = await ring(everywhere, lateInBerlin, off);
    assert.deepEqual([told.mqttSkipReason, told.warnings], ['disabled_by_request', []]);
    const nobody = await ring(everywhere, lateInBerlin, async (deviceId) => {
      await gateway.store.devices.change(deviceId, { paused: true });
      return { sendPush: false, sendEmail: false };
    });
    assert.deepEqual([nobody.told.mqttSkipReason, nobody.told.warnings], ['no_active_devices', []]);
  });

  test('a topic on a broker that the caller brought is told', async () => {
    const mqttConfig = { host: 'broker.example.com', topic: 'alerts' };
    const request = { mqttConnection: { mode: 'custom' }, mqttConfig };
    const { rang, told } = await ring(everywhere, lateInBerlin, request);
    assert.deepEqual([rang, told.mqttSkipped, told.warnings], [['mqtt'], false, ['quiet_hours']]);
  });
});
