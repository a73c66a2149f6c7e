// A caller that does not know whether a request arrived repeats it with the same Idempotency-Key, and nothing is
// delivered twice.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { install } from '@tocsin/test-support/install.ts';
import {
  channelsWith,
  type LocalGateway,
  RecordingChannel,
  startLocalGateway,
} from '@tocsin/test-support/local-gateway.ts';
import { type Caller, createCaller, notify, signedHeaders } from '@tocsin/test-support/requests.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import type { ChannelTarget } from '../src/core/channel.ts';
import { startRedelivery } from '../src/delivery/redeliver.ts';
import { readIdempotencyKey } from '../src/http/idempotency-key.ts';
import { StoreUnavailable } from '../src/usecases/ports/index.ts';
import { createDevice, createKey, createOwner, systemEnvironment } from '../src/usecases/registration.ts';

const dayMs = 86_400_000;
const withKey = (key: string) => ({ 'Idempotency-Key': key });

suite('An Idempotency-Key', () => {
  let gateway: LocalGateway;
  let caller: Caller;
  let mqtt: RecordingChannel<ChannelTarget>;
  let deviceId: string;

  beforeEach(async () => {
    mqtt = new RecordingChannel();
    gateway = await startLocalGateway({ channels: { mqtt } });
    caller = await createCaller(gateway.api, gateway.key);
    deviceId = await addDevice();
  });
  afterEach(async () => {
    await gateway.stop();
    assert.deepEqual(gateway.failures, []);
  });

  async function addDevice(): Promise<string> {
    const { store, ownerId } = gateway;
    const wanted = { ownerId, name: 'Phone', topicPrefix: 'tocsin', urls: [] };
    return (await createDevice(store, systemEnvironment, wanted)).device.id;
  }

  const countStored = async () =>
    (await gateway.store.notifications.list(gateway.ownerId, { limit: 100 })).notifications.length;

  test('returns the first response byte for byte, and delivers once', async () => {
    const first = await caller.notify({ title: 'once' }, withKey('a'));
    assert.equal(first.status, 200);
    assert.equal(first.headers.get('idempotency-replayed'), null);
    gateway.clock.now += 60_000;
    const second = await caller.notify({ title: 'once' }, withKey('a'));
    assert.equal(second.status, 200);
    assert.equal(second.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual(second.body, first.body);
    assert.notEqual(
      second.headers.get('x-request-id'),
      first.headers.get('x-request-id'),
      'the header belongs to this request',
    );
    assert.equal(mqtt.sent.length, 1);
    assert.equal(await countStored(), 1);
  });

  test('that differs, or is missing, makes the same request another notification', async () => {
    await caller.notify({ title: 'x' }, withKey('a'));
    await caller.notify({ title: 'x' }, withKey('b'));
    await caller.notify({ title: 'x' });
    assert.equal(await countStored(), 3);
  });

  test('refuses another request: another body, or the same bytes as another type', async () => {
    await caller.notify('{"title":"x"}', withKey('a'));
    for (const [body, headers] of [
      ['{"title":"y"}', {}],
      ['{"title": "x"}', {}],
      ['{"title":"x"}', { 'Content-Type': 'text/plain' }],
    ] as const) {
      const { status, body: answer } = await caller.notify(body, { ...withKey('a'), ...headers });
      assert.equal(status, 422);
      assert.equal(answer.code, 'idempotency_mismatch');
      assert.equal(answer.error, 'Idempotency-Key was used with a different request');
    }
    assert.equal(await countStored(), 1);
  });

  test('belongs to the owner: two API keys of one owner share it, other owners have their own', async () => {
    const { store, ownerId } = gateway;
    const second = await createKey(store, systemEnvironment, { ownerId, type: 'internal_service' });
    const other = await createOwner(store, systemEnvironment, { name: 'Bob', email: null, emailAlerts: false });
    const foreign = await createKey(store, systemEnvironment, { ownerId: other.id, type: 'public_client' });
    const first = await caller.notify({ title: 'x' }, withKey('a'));
    const replayed = await caller.withKey(second.value).notify({ title: 'x' }, withKey('a'));
    assert.equal(replayed.body.id, first.body.id);
    const theirs = await caller.withKey(foreign.value).notify({ title: 'x' }, withKey('a'));
    assert.equal(theirs.headers.get('idempotency-replayed'), null);
    assert.notEqual(theirs.body.id, first.body.id);
  });

  test('is refused as in progress while the first request is running', async () => {
    const entered = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    mqtt.send = async (_, targets) => {
      entered.resolve();
      await release.promise;
      return targets.map(() => ({ kind: 'sent' as const }));
    };
    const first = caller.notify({ title: 'slow' }, withKey('a'));
    await entered.promise;
    const { status, body, headers } = await caller.notify({ title: 'slow' }, withKey('a'));
    assert.equal(status, 409);
    assert.equal(body.code, 'idempotency_in_progress');
    assert.equal(headers.get('retry-after'), '1');
    assert.equal((await caller.notify({ title: 'other' }, withKey('a'))).status, 422, 'a mismatch is detected already');
    release.resolve();
    const answer = await first;
    assert.deepEqual((await caller.notify({ title: 'slow' }, withKey('a'))).body, answer.body);
  });

  test('admits one of many requests at the same moment', async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => caller.notify({ title: 'crowd' }, withKey('a'))),
    );
    const first = answers.filter(({ status, headers }) => status === 200 && !headers.has('idempotency-replayed'));
    assert.equal(first.length, 1);
    for (const { status } of answers) assert.ok(status === 200 || status === 409, `${status}`);
    assert.equal(mqtt.sent.length, 1);
    assert.equal(await countStored(), 1);
  });

  test('can be reused after a day', async () => {
    const first = await caller.notify({ title: 'x' }, withKey('a'));
    gateway.clock.now += dayMs - 1;
    assert.equal((await caller.notify({ title: 'x' }, withKey('a'))).body.id, first.body.id);
    gateway.clock.now += 1;
    const second = await caller.notify({ title: 'y' }, withKey('a'));
    assert.equal(second.status, 200);
    assert.notEqual(second.body.id, first.body.id);
  });

  test('is not used up by a refused request', async () => {
    assert.equal((await caller.notify({ mqttQos: 7, title: 'x' }, withKey('a'))).status, 400);
    assert.equal((await caller.notify({ title: 'x', deviceId: 'dev_none' }, withKey('a'))).status, 404);
    assert.equal((await caller.notify({ title: 'right' }, withKey('a'))).status, 200);
  });

  test('returns the response of a strict request that failed, and of one to a device deleted since', async () => {
    mqtt.send = async (_, targets) =>
      targets.map(() => ({ kind: 'rejected', reason: 'refused' as const, error: 'No' }));
    const failed = await caller.notify({ title: 'x', strictDelivery: true }, withKey('a'));
    assert.equal(failed.status, 502);
    const again = await caller.notify({ title: 'x', strictDelivery: true }, withKey('a'));
    assert.equal(again.status, 502);
    assert.deepEqual(again.body, failed.body);
    mqtt.send = async (_, targets) => targets.map(() => ({ kind: 'sent' as const }));
    const sent = await caller.notify({ title: 'y', deviceId }, withKey('b'));
    await gateway.store.devices.delete(deviceId);
    assert.deepEqual((await caller.notify({ title: 'y', deviceId }, withKey('b'))).body, sent.body);
  });

  test('with an invalid format is refused with an explanation', async () => {
    for (const value of ['', ' ', 'a b', 'x'.repeat(256), 'ü']) {
      const headers = { 'Idempotency-Key': Buffer.from(value, 'utf8').toString('latin1') };
      const { status, body } = await caller.notify({ title: 'x' }, headers);
      assert.equal(status, 400, JSON.stringify(value));
      assert.equal(body.details?.[0]?.field, 'Idempotency-Key');
    }
    assert.equal((await caller.notify({ title: 'x' }, withKey('x'.repeat(255)))).status, 200);
  });

  test('works for signed requests that are signed again', async () => {
    const body = JSON.stringify({ title: 'signed' });
    const { now } = gateway.clock;
    const first = await caller.notify(body, { ...withKey('a'), ...signedHeaders(gateway.key, body, now) });
    const second = await caller.notify(body, { ...withKey('a'), ...signedHeaders(gateway.key, body, now + 1) });
    assert.equal(first.status, 200);
    assert.deepEqual(second.body, first.body);
  });

  test('of a request whose process died returns its delivery status, once that is known', async () => {
    const { store, ownerId, clock, lifecycle } = gateway;
    const now = (): number => clock.now;
    const raw = Buffer.from('{"title":"interrupted"}');
    const idempotency = readIdempotencyKey({ 'idempotency-key': 'a' }, { format: 'json', raw }, clock.now);
    const id = '0190aaaa-0000-7000-8000-000000000001';
    await store.notifications.save(
      { id, ownerId, createdAt: clock.now, content: sampleContent({ title: 'interrupted' }) },
      {
        dispatch: { qos: 0, isStrict: false, push: [], email: false, mqtt: [deviceId] },
        idempotency,
        leaseUntil: clock.now + 20_000,
      },
    );
    assert.equal((await caller.notify(raw.toString(), withKey('a'))).status, 409, 'its process may be alive');
    clock.now += 20_000;
    assert.equal((await caller.notify(raw.toString(), withKey('a'))).status, 409, 'no process has resumed it yet');
    const redelivery = startRedelivery({
      ...{ store, lifecycle, now },
      channels: channelsWith({ mqtt, email: new RecordingChannel(), push: new RecordingChannel() }),
      ...{
        random: () => 0.5,
        isReceived: async () => false,
        onDead: () => undefined,
        onFailed: (error: unknown) => gateway.failures.push(error),
      },
    });
    await redelivery.turn();
    await redelivery.close();
    await lifecycle.writer.flush();
    const { status, body, headers } = await caller.notify(raw.toString(), withKey('a'));
    assert.equal(status, 200);
    assert.equal(headers.get('idempotency-replayed'), 'true');
    assert.equal(body.id, id);
    assert.equal(body.stored, true);
    assert.equal(body.mqttPublishedCount, 1);
    assert.deepEqual((await caller.notify(raw.toString(), withKey('a'))).body, body, 'and stays the same');
    assert.equal(mqtt.sent.length, 1);
  });

  test('does not stop a request during an outage of the store; the response reports that it was not stored', async () => {
    const away = await startLocalGateway({
      wrapStore: (store) => {
        const fail = () => Promise.reject(new StoreUnavailable('away'));
        return {
          ...store,
          notifications: { ...store.notifications, save: fail },
          idempotency: { find: fail, saveResponse: fail },
        };
      },
    });
    const { status, body } = await notify(away, { title: 'x' }, withKey('a'));
    await away.stop();
    assert.equal(status, 200);
    assert.equal(body.stored, false);
  });
});

test('An Idempotency-Key works across processes on one store, and across a restart', async (t) => {
  const installation = await install(t);
  const first = await installation.serve({ TOCSIN_WORKERS: '2' });
  const { key } = first;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      // A separate connection for each request, so that they reach either worker.
      notify({ api: first.api, key }, { title: 'x' }, { ...withKey('a'), connection: 'close' }),
    ),
  );
  assert.equal(
    answers.filter(({ status, headers }) => status === 200 && !headers.has('idempotency-replayed')).length,
    1,
  );
  assert.equal((await notify({ api: first.api, key }, { title: 'y' }, withKey('a'))).status, 422);
  await first.kill();
  const third = await installation.serve();
  const again = await notify({ api: third.api, key }, { title: 'x' }, withKey('a'));
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  assert.equal(again.body.id, answers.find(({ status }) => status === 200)?.body.id);
  const inbox = await installation.json<unknown[]>('inbox', 'list', '--limit', '100');
  assert.equal(inbox.length, 1);
});
