// The contract of the store. Each backend runs this suite: see store-sqlite.test.ts.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { StoreFixture } from '@tocsin/test-support/store-fixture.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import {
  type ApiKey,
  EncryptionKeyMissing,
  type Hook,
  KeyExists,
  type MqttQueueName,
  type MqttSession,
  type Notification,
  type Owner,
  type Store,
  type StoredDevice,
} from '../src/usecases/ports/index.ts';

/** An empty store, and a function that opens the same database again, as another process would. */
const dayMs = 86_400_000;

export function runStoreContract(name: string, createFixture: () => Promise<StoreFixture>): void {
  suite(`The ${name} store`, () => {
    let fixture: StoreFixture;
    let store: Store;
    let opened: Store[];
    let time: number;
    let newId: () => string;

    beforeEach(async () => {
      fixture = await createFixture();
      opened = [];
      store = await openAnother();
      time = 1_800_000_000_000;
      newId = createUuidV7Source(() => time, randomUUID);
    });
    afterEach(async () => {
      await Promise.all(opened.map((each) => each.close()));
      await fixture.remove();
    });

    async function openAnother(): Promise<Store> {
      const another = await fixture.open();
      opened.push(another);
      return another;
    }

    async function reopen(): Promise<void> {
      await store.close();
      opened = opened.filter((each) => each !== store);
      store = await openAnother();
    }

    const owner = (id: string): Owner => ({
      id,
      name: `Name of ${id}`,
      email: `${id}@example.com`,
      emailAlerts: true,
      role: 'operator',
      quietHours: { timeZone: 'Europe/Berlin', push: { from: '22:00', to: '07:00' }, email: null, mqtt: null },
      retentionDays: 30,
      createdAt: time,
    });
    const key = (id: string, ownerId: string): ApiKey => ({
      id,
      ownerId,
      digest: `digest-of-${id}`,
      type: 'public_client',
      label: `Label of ${id}`,
      allowedDomains: ['example.com', '*.example.org'],
      requireSignature: true,
      rateLimit: { requests: 10, seconds: 60 },
      createdAt: time,
      expiresAt: time + 1000,
      revokedAt: null,
      irregular: false,
    });
    const hook = (id: string, ownerId: string): Hook => ({
      id,
      ownerId,
      name: `Name of ${id}`,
      preset: 'generic',
      tokens: [{ digest: `token-of-${id}`, expiresAt: null }],
      secret: 'a secret',
      severity: 'warning',
      disabledChannels: ['mqtt'],
      rateLimit: { requests: 10, seconds: 60 },
      repeatSeconds: 120,
      allowsGet: false,
      createdAt: time,
      disabledAt: null,
    });
    const device = (id: string, ownerId: string): StoredDevice => ({
      id,
      ownerId,
      name: `Name of ${id}`,
      state: 'active',
      paused: false,
      createdAt: time,
      seenAt: null,
    });
    const notification = (ownerId: string, title: string): Notification => ({
      id: newId(),
      ownerId,
      createdAt: time,
      content: {
        title,
        body: 'Body with ünïcödé 🔔 and \u0000',
        source: 'test',
        category: 'task',
        severity: 'critical',
        data: { nested: { list: [1, 'two', null, true] }, text: 'x' },
      },
    });

    test('returns an owner as it was created, also to another process and after a restart', async () => {
      const ann = owner('own_ann');
      await store.owners.create(ann);
      assert.deepEqual(await store.owners.find('own_ann'), ann);
      assert.deepEqual(await (await openAnother()).owners.find('own_ann'), ann);
      await reopen();
      assert.deepEqual(await store.owners.list(), [ann]);
      assert.equal(await store.owners.find('own_missing'), null);
    });

    test('creates a first owner once, even if several processes try at once', async () => {
      const stores = [store, await openAnother(), await openAnother()];
      const created = await Promise.all(stores.map((each, index) => each.owners.createFirst(owner(`own_${index}`))));
      assert.equal(created.filter(Boolean).length, 1);
      const [first, ...others] = await store.owners.list();
      assert.deepEqual(others, []);
      await store.notifications.save(notification(first?.id as string, 'x'));
    });

    test('reports whether there are owners', async () => {
      assert.equal(await store.owners.hasAny(), false);
      await store.owners.create(owner('own_ann'));
      assert.equal(await (await openAnother()).owners.hasAny(), true);
      await store.owners.delete('own_ann');
      assert.equal(await store.owners.hasAny(), false);
    });

    test('keeps a secret for every process until it is deleted', async () => {
      const another = await openAnother();
      assert.equal(await store.secrets.find('of_a_test'), null);
      const made = await store.secrets.obtain('of_a_test', () => 'first');
      assert.equal(await another.secrets.obtain('of_a_test', () => 'second'), made);
      assert.equal(await another.secrets.find('of_a_test'), 'first');
      await another.secrets.delete('of_a_test');
      assert.equal(await store.secrets.find('of_a_test'), null);
    });

    test('stores nothing for an owner that another process has deleted', async () => {
      await store.owners.create(owner('own_ann'));
      await store.notifications.save(notification('own_ann', 'before'));
      await (await openAnother()).owners.delete('own_ann');
      await assert.rejects(store.notifications.save(notification('own_ann', 'after')), EncryptionKeyMissing);
      assert.deepEqual((await store.notifications.list('own_ann', { limit: 10 })).notifications, []);
    });

    test('lists owners in the order of their creation', async () => {
      for (const id of ['own_c', 'own_a', 'own_b']) {
        await store.owners.create(owner(id));
        time += 1;
      }
      assert.deepEqual(
        (await store.owners.list()).map(({ id }) => id),
        ['own_c', 'own_a', 'own_b'],
      );
    });

    test('changes an owner, and reports a missing one', async () => {
      await store.owners.create(owner('own_ann'));
      const changed = { ...owner('own_ann'), name: 'Ann', email: null, emailAlerts: false };
      assert.equal(await store.owners.update(changed), true);
      assert.deepEqual(await store.owners.find('own_ann'), changed);
      await assert.rejects(store.owners.update(owner('own_missing')), EncryptionKeyMissing);
    });

    test('loses no concurrent change of an owner', async () => {
      await store.owners.create({ ...owner('own_ann'), name: '' });
      const add = (character: string) =>
        store.owners.change('own_ann', (ann) => ({ ...ann, name: ann.name + character }));
      await Promise.all([...'abcdefgh'].map(add));
      const { name = '' } = (await store.owners.find('own_ann')) ?? {};
      assert.equal([...name].sort().join(''), 'abcdefgh');
      assert.equal(await store.owners.change('own_missing', (missing) => missing), null);
    });

    test('deletes an owner with all of its rows, and no rows of others', async () => {
      for (const id of ['own_ann', 'own_bob']) {
        await store.owners.create(owner(id));
        await store.keys.create(key(`key_${id}`, id));
        await store.hooks.create(hook(`hk_${id}`, id));
        await store.devices.create(device(`dev_${id}`, id), 'digest');
        await store.notifications.save(notification(id, 'x'));
        await store.signatures.claim(id, 'signature', time + 1);
      }
      assert.equal(await store.owners.delete('own_ann'), true);
      assert.equal(await store.owners.delete('own_ann'), false);
      assert.equal(await store.owners.find('own_ann'), null);
      assert.deepEqual(await store.keys.list('own_ann'), []);
      assert.deepEqual(await store.devices.list('own_ann'), []);
      assert.equal(await store.keys.find('digest-of-key_own_ann'), null);
      assert.deepEqual(await store.hooks.list('own_ann'), []);
      assert.equal(await store.hooks.find('token-of-hk_own_ann'), null);
      assert.deepEqual((await store.notifications.list('own_ann', { limit: 10 })).notifications, []);
      await assert.rejects(store.notifications.save(notification('own_ann', 'late')), EncryptionKeyMissing);
      assert.equal((await store.keys.list('own_bob')).length, 1);
      assert.equal((await store.hooks.find('token-of-hk_own_bob'))?.ownerId, 'own_bob');
      assert.equal((await store.devices.list('own_bob')).length, 1);
      assert.equal((await store.notifications.list('own_bob', { limit: 10 })).notifications.length, 1);
    });

    test('keeps what was sent to a hook beside the notification, until it is purged', async () => {
      await store.owners.create(owner('own_ann'));
      const [kept, plain] = [notification('own_ann', 'kept'), notification('own_ann', 'plain')];
      const original = { event: { text: 'x'.repeat(100_000) }, headers: { 'x-github-event': 'push' } };
      await store.notifications.save(kept, { dispatch: null, idempotency: null, leaseUntil: 0, original });
      await store.notifications.save(plain);
      assert.deepEqual(await (await openAnother()).notifications.findOriginal('own_ann', kept.id), original);
      assert.equal(await store.notifications.findOriginal('own_ann', plain.id), null);
      assert.equal(await store.notifications.findOriginal('own_bob', kept.id), null);
      await store.maintenance.purge(time + 1000, time + 1000);
      assert.equal(await store.notifications.findOriginal('own_ann', kept.id), null);
    });

    test('returns a key as it was created, by owner and by digest', async () => {
      await store.owners.create(owner('own_ann'));
      const made = key('key_1', 'own_ann');
      await store.keys.create(made);
      assert.deepEqual(await store.keys.find('digest-of-key_1'), made);
      assert.deepEqual(await store.keys.list('own_ann'), [made]);
      assert.equal(await store.keys.find('digest-of-key_2'), null);
    });

    test('refuses a second key with the same value, and keeps the first', async () => {
      await store.owners.create(owner('own_ann'));
      await store.owners.create(owner('own_bob'));
      await store.keys.create(key('key_1', 'own_ann'));
      const twin = { ...key('key_2', 'own_bob'), digest: 'digest-of-key_1' };
      await assert.rejects(store.keys.create(twin), KeyExists);
      assert.equal((await store.keys.find('digest-of-key_1'))?.ownerId, 'own_ann');
    });

    test('revokes a key once, and keeps the time of the first revocation', async () => {
      await store.owners.create(owner('own_ann'));
      await store.keys.create(key('key_1', 'own_ann'));
      assert.equal((await store.keys.revoke('key_1', 111))?.revokedAt, 111);
      assert.equal((await store.keys.revoke('key_1', 222))?.revokedAt, 111);
      assert.equal((await store.keys.find('digest-of-key_1'))?.revokedAt, 111);
      assert.equal(await store.keys.revoke('key_none', 1), null);
    });

    test('deletes a key only for its owner', async () => {
      await store.owners.create(owner('own_ann'));
      await store.owners.create(owner('own_bob'));
      await store.keys.create(key('key_1', 'own_ann'));
      await store.keys.delete('own_bob', 'key_1');
      assert.equal((await store.keys.list('own_ann')).length, 1);
      await store.keys.delete('own_ann', 'key_1');
      assert.deepEqual([await store.keys.find('digest-of-key_1'), await store.keys.list('own_ann')], [null, []]);
    });

    test('returns a hook by each of its tokens, also to another process', async () => {
      await store.owners.create(owner('own_ann'));
      const made = hook('hk_1', 'own_ann');
      await store.hooks.create(made);
      assert.deepEqual(await (await openAnother()).hooks.find('token-of-hk_1'), made);
      assert.deepEqual(await store.hooks.list('own_ann'), [made]);
      assert.equal(await store.hooks.find('token-of-hk_2'), null);
      const tokens = [
        { digest: 'newer', expiresAt: null },
        { digest: 'token-of-hk_1', expiresAt: 5 },
      ];
      const changed = await store.hooks.change('hk_1', (before) => ({ ...before, name: 'Other', tokens }));
      assert.deepEqual(changed, { ...made, name: 'Other', tokens });
      assert.deepEqual(await store.hooks.find('newer'), changed);
      assert.deepEqual(await store.hooks.find('token-of-hk_1'), changed);
      await store.hooks.change('hk_1', (before) => ({ ...before, tokens: tokens.slice(0, 1) }));
      assert.equal(await store.hooks.find('token-of-hk_1'), null);
      assert.equal(await store.hooks.change('hk_none', (before) => before), null);
    });

    test('loses no concurrent change of a hook', async () => {
      await store.owners.create(owner('own_ann'));
      await store.hooks.create({ ...hook('hk_1', 'own_ann'), name: '' });
      const add = (character: string) =>
        store.hooks.change('hk_1', (before) => ({ ...before, name: before.name + character }));
      await Promise.all([...'abcdefgh'].map(add));
      const { name = '' } = (await store.hooks.find('token-of-hk_1')) ?? {};
      assert.equal([...name].sort().join(''), 'abcdefgh');
    });

    test('deletes a hook with its tokens, and creates none for a deleted owner', async () => {
      await store.owners.create(owner('own_ann'));
      await store.hooks.create(hook('hk_1', 'own_ann'));
      assert.equal(await store.hooks.delete('hk_1'), true);
      assert.equal(await store.hooks.delete('hk_1'), false);
      assert.deepEqual([await store.hooks.find('token-of-hk_1'), await store.hooks.list('own_ann')], [null, []]);
      await store.owners.delete('own_ann');
      await assert.rejects(store.hooks.create(hook('hk_2', 'own_ann')), EncryptionKeyMissing);
      assert.equal(await store.hooks.find('token-of-hk_2'), null);
    });

    test('changes and deletes devices, and reports missing ones', async () => {
      await store.owners.create(owner('own_ann'));
      const phone = device('dev_1', 'own_ann');
      await store.devices.create(phone, 'digest');
      assert.deepEqual(await store.devices.list('own_ann'), [phone]);
      assert.deepEqual(await store.devices.change('dev_1', { paused: true }), { ...phone, paused: true });
      assert.deepEqual(await store.devices.change('dev_1', { state: 'inactive' }), {
        ...phone,
        paused: true,
        state: 'inactive',
      });
      assert.deepEqual(await store.devices.change('dev_1', { paused: false, state: 'active' }), phone);
      assert.equal(await store.devices.change('dev_none', { paused: true }), null);
      assert.deepEqual(await store.devices.change('dev_1', { name: 'Tablet' }), { ...phone, name: 'Tablet' });
      assert.deepEqual(await store.devices.list('own_ann'), [{ ...phone, name: 'Tablet' }]);
      assert.equal(await store.devices.delete('dev_1'), true);
      assert.equal(await store.devices.delete('dev_1'), false);
      assert.deepEqual(await store.devices.list('own_ann'), []);
    });

    test('changes the password of a device, and reports a missing one', async () => {
      await store.owners.create(owner('own_ann'));
      const phone = device('dev_1', 'own_ann');
      await store.devices.create(phone, 'digest');
      assert.equal(await store.devices.changeSecret('dev_1', 'another digest'), true);
      assert.deepEqual(await store.devices.find('dev_1'), { device: phone, secretDigest: 'another digest' });
      const { id, ownerId, state, paused } = phone;
      assert.deepEqual(await store.devices.listCredentials(['dev_1', 'dev_unknown']), [
        { id, ownerId, state, paused, secretDigest: 'another digest' },
      ]);
      assert.equal(await store.devices.changeSecret('dev_none', 'digest'), false);
    });

    test('records when devices were last seen, never an earlier time, without invalidating caches', async () => {
      await store.owners.create(owner('own_ann'));
      for (const id of ['dev_1', 'dev_2']) await store.devices.create(device(id, 'own_ann'), 'digest');
      const { generation } = await store.changes.read();
      await store.devices.touch(['dev_2', 'dev_none', 'dev_2'], time);
      await store.devices.touch(['dev_2', 'dev_1'], time - 5);
      await store.devices.touch([], time);
      assert.deepEqual(
        (await store.devices.list('own_ann')).map(({ seenAt }) => seenAt),
        [time - 5, time],
      );
      assert.equal((await store.changes.read()).generation, generation);
    });

    test('returns the recipients of an owner', async () => {
      await store.owners.create(owner('own_ann'));
      await store.devices.create(device('dev_1', 'own_ann'), 'digest');
      assert.deepEqual(await store.owners.recipientsOf('own_ann'), {
        email: 'own_ann@example.com',
        emailAlerts: true,
        quietHours: owner('own_ann').quietHours,
        devices: [{ id: 'dev_1', state: 'active', paused: false }],
        pushTargets: [],
      });
    });

    test('increments the generation with every change that must invalidate caches, in every process', async () => {
      const other = await openAnother();
      let last = (await other.changes.read()).generation;
      const grows = async (change: () => Promise<unknown>): Promise<void> => {
        await change();
        const { generation } = await other.changes.read();
        assert.ok(generation > last, change.toString());
        last = generation;
      };
      await grows(() => store.owners.create(owner('own_ann')));
      await grows(() => store.keys.create(key('key_1', 'own_ann')));
      await grows(() => store.keys.revoke('key_1', 1));
      await grows(() => store.devices.create(device('dev_1', 'own_ann'), 'digest'));
      await grows(() => store.devices.change('dev_1', { paused: true }));
      await grows(() => store.devices.changeSecret('dev_1', 'another digest'));
      await grows(() => store.devices.delete('dev_1'));
      await grows(() => store.owners.update(owner('own_ann')));
      await store.notifications.save(notification('own_ann', 'x'));
      await store.check();
      assert.equal((await other.changes.read()).generation, last);
      await grows(() => store.owners.delete('own_ann'));
    });

    test('reports whether irregular keys were imported', async () => {
      await store.owners.create(owner('own_ann'));
      await store.keys.create(key('key_1', 'own_ann'));
      assert.equal((await store.changes.read()).hasIrregularKeys, false);
      await store.keys.create({ ...key('key_2', 'own_ann'), irregular: true });
      assert.equal((await store.changes.read()).hasIrregularKeys, true);
    });

    test('returns notifications as they were saved, newest first, in pages', async () => {
      await store.owners.create(owner('own_ann'));
      const saved: Notification[] = [];
      for (let count = 0; count < 7; count += 1) {
        saved.unshift(notification('own_ann', `Number ${count}`));
        await store.notifications.save(saved[0] as Notification);
      }
      const first = await store.notifications.list('own_ann', { limit: 3 });
      assert.deepEqual(first.notifications, saved.slice(0, 3));
      const second = await store.notifications.list('own_ann', { limit: 3, before: first.next as string });
      assert.deepEqual(second.notifications, saved.slice(3, 6));
      const third = await store.notifications.list('own_ann', { limit: 3, before: second.next as string });
      assert.deepEqual(third.notifications, saved.slice(6));
      assert.equal(third.next, undefined);
      assert.deepEqual([...first.damaged, ...second.damaged, ...third.damaged], []);
    });

    test('returns no notifications of another owner', async () => {
      await store.owners.create(owner('own_ann'));
      await store.owners.create(owner('own_bob'));
      await store.notifications.save(notification('own_ann', 'for Ann'));
      assert.deepEqual((await store.notifications.list('own_bob', { limit: 10 })).notifications, []);
    });

    test('saves concurrent notifications of two processes exactly once', async () => {
      await store.owners.create(owner('own_ann'));
      const other = await openAnother();
      const all = Array.from({ length: 1500 }, (_, index) => notification('own_ann', `${index}`));
      await Promise.all(all.map((each, index) => (index % 2 === 0 ? store : other).notifications.save(each)));
      const ids: string[] = [];
      let before: string | undefined;
      do {
        const page = await store.notifications.list('own_ann', { limit: 400, ...(before !== undefined && { before }) });
        ids.push(...page.notifications.map(({ id }) => id));
        before = page.next;
      } while (before !== undefined);
      assert.deepEqual(
        ids,
        all
          .map(({ id }) => id)
          .sort()
          .reverse(),
      );
    });

    test('rejects with EncryptionKeyMissing for an owner without a data key', async () => {
      await assert.rejects(store.notifications.save(notification('own_missing', 'x')), EncryptionKeyMissing);
    });

    test('accepts a signature once per owner, also across processes and a restart', async () => {
      await store.owners.create(owner('own_ann'));
      assert.equal(await store.signatures.claim('own_ann', 's1', time + 1000), true);
      assert.equal(await store.signatures.claim('own_ann', 's1', time + 1000), false);
      assert.equal(await (await openAnother()).signatures.claim('own_ann', 's1', time + 1000), false);
      assert.equal(await store.signatures.claim('own_ann', 's2', time + 1000), true);
      assert.equal(await store.signatures.claim('own_bob', 's1', time + 1000), true);
      await reopen();
      assert.equal(await store.signatures.claim('own_ann', 's1', time + 1000), false);
    });

    test('purges notifications older than the retention, of every owner, and expired signatures', async () => {
      const start = time;
      for (const id of ['own_ann', 'own_bob']) {
        await store.owners.create(owner(id));
        time = start;
        newId = createUuidV7Source(() => time, randomUUID);
        for (let count = 0; count < 1100; count += 1) void store.notifications.save(notification(id, 'old'));
        time = start + 10 * dayMs;
        await store.notifications.save(notification(id, 'new'));
      }
      await store.signatures.claim('own_ann', 'old', start);
      await store.signatures.claim('own_ann', 'new', start + 10 * dayMs);
      assert.equal(await store.maintenance.purge(start + 5 * dayMs, start + 5 * dayMs), 2200);
      assert.equal(await store.maintenance.purge(start + 5 * dayMs, start + 5 * dayMs), 0);
      for (const id of ['own_ann', 'own_bob']) {
        const { notifications } = await store.notifications.list(id, { limit: 10 });
        assert.deepEqual(
          notifications.map(({ content }) => content.title),
          ['new'],
        );
      }
      assert.equal(await store.signatures.claim('own_ann', 'old', time), true);
      assert.equal(await store.signatures.claim('own_ann', 'new', time), false);
    });

    test('verifies without problems', async () => {
      await store.owners.create(owner('own_ann'));
      await store.keys.create(key('key_1', 'own_ann'));
      await store.devices.create(device('dev_1', 'own_ann'), 'digest');
      for (let count = 0; count < 5; count += 1) await store.notifications.save(notification('own_ann', 'x'));
      await store.check();
      assert.deepEqual(await store.maintenance.verify(), []);
    });

    const mqttSession = (ownerId: string, clientId = 'client'): MqttSession => ({
      ownerId,
      deviceId: `dev_${ownerId}`,
      clientId,
      subscriptions: [{ filter: 'tocsin/x/y/notifications', qos: 2 }],
      seenAt: time,
    });

    async function keepMqttSession(ownerId: string, clientId?: string): Promise<MqttSession> {
      const session = mqttSession(ownerId, clientId);
      if ((await store.owners.find(ownerId)) === null) {
        await store.owners.create(owner(ownerId));
        await store.devices.create(device(session.deviceId, ownerId), 'digest');
      }
      await store.mqttSessions.save(session);
      return session;
    }

    const queueOf = ({ ownerId, deviceId, clientId }: MqttSession): MqttQueueName => ({ ownerId, deviceId, clientId });

    const waitingIds = async (session: MqttQueueName): Promise<string[]> =>
      (await store.mqttQueues.list(session, { limit: 100 })).map(({ notificationId }) => notificationId);

    const enqueue = (queue: MqttQueueName, ...ids: string[]): Promise<readonly boolean[]> =>
      store.mqttQueues.enqueue(ids.map((notificationId) => ({ queue, notificationId, qos: 1 })));

    const dispatchTo = (...mqtt: string[]) => ({ qos: 1 as const, isStrict: false, push: [], email: false, mqtt });

    test('stores the messages of a notification with it, and settles its dispatch', async () => {
      const session = await keepMqttSession('own_ann');
      const { ownerId, deviceId, clientId } = session;
      const ofDevice = { ownerId, deviceId, clientId: '' };
      const stored = notification(ownerId, 'x');
      const dispatch = dispatchTo(deviceId);
      const saved = await store.notifications.save(stored, {
        ...{ dispatch, idempotency: null, leaseUntil: time + 1000 },
        messages: [
          { deviceId, clientId, qos: 1 },
          { deviceId, clientId: '', qos: 2 },
        ],
        resultsIfQueued: { push: [], email: [], mqtt: ['sent'] },
      });
      assert.equal(saved, 'saved');
      const [waiting] = await store.mqttQueues.list(session, { limit: 10 });
      assert.deepEqual(waiting, { notificationId: stored.id, qos: 1, messageId: null, state: 'publish' });
      assert.deepEqual((await store.mqttQueues.list(ofDevice, { limit: 10 }))[0]?.qos, 2);
      assert.deepEqual((await store.dispatches.find(ownerId, stored.id))?.results, {
        push: [],
        email: [],
        mqtt: ['sent'],
      });
      assert.deepEqual(await store.dispatches.claim(time + 5000, time + 9000, 10), [], 'nothing is left to do');
    });

    test('reports messages whose session or device was deleted, and leaves their dispatch to be resumed', async () => {
      const session = await keepMqttSession('own_ann');
      const { ownerId, deviceId, clientId } = session;
      const stored = notification(ownerId, 'x');
      const dispatch = dispatchTo(deviceId, 'dev_deleted');
      const saved = await store.notifications.save(stored, {
        ...{ dispatch, idempotency: null, leaseUntil: time + 1000 },
        messages: [
          { deviceId, clientId: 'ended', qos: 1 },
          { deviceId, clientId, qos: 1 },
          { deviceId: 'dev_deleted', clientId: '', qos: 1 },
        ],
        resultsIfQueued: { push: [], email: [], mqtt: ['sent', 'sent'] },
      });
      assert.deepEqual(saved, { notQueued: [0, 2] });
      assert.deepEqual(await waitingIds(session), [stored.id]);
      assert.equal((await store.dispatches.find(ownerId, stored.id))?.results, null);
      const [claimed] = await store.dispatches.claim(time + 5000, time + 9000, 10);
      assert.equal(claimed?.notificationId, stored.id);
    });

    test('queues nothing for a duplicate, and settles no dispatch that has other targets', async () => {
      const session = await keepMqttSession('own_ann');
      const { ownerId, deviceId, clientId } = session;
      const idempotency = { keyDigest: 'once', fingerprint: 'f', expiresAt: time + 60_000 };
      const options = {
        ...{ dispatch: { ...dispatchTo(deviceId), email: true }, idempotency, leaseUntil: time + 1000 },
        messages: [{ deviceId, clientId, qos: 1 as const }],
        resultsIfQueued: null,
      };
      const first = notification(ownerId, 'x');
      assert.deepEqual(
        await Promise.all([
          store.notifications.save(first, options),
          store.notifications.save(notification(ownerId, 'x'), options),
        ]),
        ['saved', 'duplicate'],
      );
      assert.deepEqual(await waitingIds(session), [first.id]);
      assert.equal((await store.dispatches.find(ownerId, first.id))?.results, null, 'the email is still to be sent');
    });

    test('stores notifications of all kinds that arrive together, each with its own result', async () => {
      const session = await keepMqttSession('own_ann');
      const { ownerId, deviceId, clientId } = session;
      const idempotency = { keyDigest: 'once', fingerprint: 'f', expiresAt: time + 60_000 };
      const plain = { dispatch: null, idempotency: null, leaseUntil: time + 1000 };
      const dispatch = dispatchTo(deviceId);
      const results = { push: [], email: [], mqtt: ['sent' as const] };
      const queued = {
        ...plain,
        dispatch,
        messages: [{ deviceId, clientId, qos: 1 as const }],
        resultsIfQueued: results,
      };
      const missing = { ...queued, messages: [{ deviceId, clientId: 'ended', qos: 1 as const }] };
      const all = [
        plain,
        { ...plain, dispatch },
        queued,
        { ...plain, idempotency },
        { ...plain, idempotency },
        missing,
      ];
      const stored = all.map(() => notification(ownerId, 'x'));
      const saved = await Promise.all(
        stored.map((each, index) => store.notifications.save(each, all[index] as typeof queued)),
      );
      assert.deepEqual(saved, ['saved', 'saved', 'saved', 'saved', 'duplicate', { notQueued: [0] }]);
      const found = await Promise.all(stored.map(({ id }) => store.notifications.find(ownerId, id)));
      assert.deepEqual(
        found.map((each) => each !== null),
        [true, true, true, true, false, true],
      );
      const dispatches = await Promise.all(stored.map(({ id }) => store.dispatches.find(ownerId, id)));
      assert.deepEqual(
        dispatches.map((each) => each?.results),
        [undefined, null, results, undefined, undefined, null],
      );
      assert.deepEqual(await waitingIds(session), [stored[2]?.id]);
    });

    test('keeps MQTT sessions with their latest subscriptions, also after a restart', async () => {
      const session = await keepMqttSession('own_ann');
      const other = await keepMqttSession('own_ann', 'other');
      const changed = { ...session, subscriptions: [], seenAt: time + 5 };
      await store.mqttSessions.save(changed);
      await store.mqttSessions.touch([other], time + 7);
      await store.mqttSessions.touch([mqttSession('own_missing')], time);
      await reopen();
      const sessions = await store.mqttSessions.list();
      assert.deepEqual(
        sessions.sort((a, b) => a.clientId.localeCompare(b.clientId)),
        [changed, { ...other, seenAt: time + 7 }],
      );
    });

    test('queues a message once per MQTT session, in the order of the notifications', async () => {
      const session = await keepMqttSession('own_ann');
      const other = await keepMqttSession('own_ann', 'other');
      await enqueue(session, 'n3', 'n1');
      await enqueue(session, 'n2', 'n1');
      await enqueue(other, 'n9');
      assert.deepEqual(await waitingIds(session), ['n1', 'n2', 'n3']);
      assert.deepEqual(await waitingIds(other), ['n9']);
      assert.deepEqual(await store.mqttQueues.list(session, { limit: 1 }), [
        { notificationId: 'n1', qos: 1, messageId: null, state: 'publish' },
      ]);
      await store.mqttQueues.remove(session, ['n1', 'n3', 'n9']);
      assert.deepEqual(await waitingIds(session), ['n2']);
      assert.deepEqual(await waitingIds(other), ['n9']);
    });

    test('queues nothing for an MQTT session that does not exist', async () => {
      const session = await keepMqttSession('own_ann');
      await enqueue(session, 'n1');
      assert.equal(await store.mqttSessions.delete(session), 1);
      await enqueue(session, 'n2');
      assert.deepEqual(await waitingIds(session), []);
      assert.deepEqual(await waitingIds({ ...session, clientId: '' }), ['n1'], 'it is queued for the device');
      assert.deepEqual(await store.mqttSessions.list(), []);
    });

    test('stores the handshake state of an MQTT message, also across a restart', async () => {
      const session = await keepMqttSession('own_ann');
      await store.mqttQueues.enqueue(
        ['n1', 'n2', 'n3'].map((notificationId) => ({ queue: session, notificationId, qos: 2 })),
      );
      await store.mqttQueues.update(session, [
        { notificationId: 'n2', messageId: 7, state: 'publish' },
        { notificationId: 'n1', messageId: 8, state: 'publish' },
      ]);
      await store.mqttQueues.update(session, [{ notificationId: 'n1', messageId: 8, state: 'pubrel' }]);
      await reopen();
      assert.deepEqual(await store.mqttQueues.listInFlight(session), [
        { notificationId: 'n1', qos: 2, messageId: 8, state: 'pubrel' },
        { notificationId: 'n2', qos: 2, messageId: 7, state: 'publish' },
      ]);
      assert.deepEqual(await waitingIds(session), ['n1', 'n2', 'n3']);
    });

    test('reads a queue in pages, and returns the length of each queue', async () => {
      const session = await keepMqttSession('own_ann');
      const ofDevice = { ...queueOf(session), clientId: '' };
      await enqueue(session, 'n1', 'n2', 'n3');
      await enqueue(ofDevice, 'n4');
      const page = await store.mqttQueues.list(session, { limit: 2, after: 'n1' });
      assert.deepEqual(
        page.map(({ notificationId }) => notificationId),
        ['n2', 'n3'],
      );
      const lengths = (await store.mqttQueues.lengths()).map(({ clientId, length }) => [clientId, length]);
      assert.deepEqual(lengths.sort(), [
        ['', 1],
        [session.clientId, 3],
      ]);
    });

    test('returns which messages were added to a queue, and adds none for a missing device', async () => {
      const session = await keepMqttSession('own_ann');
      assert.deepEqual(await enqueue(session, 'n1', 'n2'), [true, true]);
      assert.deepEqual(await enqueue(session, 'n2', 'n3'), [false, true]);
      assert.deepEqual(await enqueue({ ownerId: 'own_ann', deviceId: 'dev_other', clientId: '' }, 'n1'), [false]);
    });

    test('stores a receipt of each delivered message, and reports which are still queued', async () => {
      const session = await keepMqttSession('own_ann');
      const { ownerId, deviceId } = session;
      await enqueue(session, 'n1', 'n2');
      await enqueue({ ownerId, deviceId, clientId: '' }, 'n3');
      await store.mqttQueues.confirm(session, [{ notificationId: 'n1', deliveredAt: time, qos: 1 }]);
      assert.deepEqual(await waitingIds(session), ['n2']);
      const progress = async (id: string) =>
        (await store.mqttQueues.findProgress(ownerId, id, [deviceId])).get(deviceId);
      assert.deepEqual(await progress('n1'), { state: 'delivered', deliveredAt: time, qos: 1 });
      assert.deepEqual([await progress('n2'), await progress('n3')], [{ state: 'queued' }, { state: 'queued' }]);
      assert.equal(await progress('n4'), undefined);
    });

    test('moves queued messages to another queue of the device, except delivered ones', async () => {
      const session = await keepMqttSession('own_ann');
      const other = await keepMqttSession('own_ann', 'other');
      await enqueue(session, 'n1', 'n2', 'n3');
      await enqueue(other, 'n1', 'n2');
      await store.mqttQueues.confirm(other, [{ notificationId: 'n1', deliveredAt: time, qos: 1 }]);
      assert.deepEqual(await store.mqttQueues.move(session, other), { copied: 1, removed: 3 });
      assert.deepEqual([await waitingIds(session), await waitingIds(other)], [[], ['n2', 'n3']]);
    });

    test('turns messages dropped from a queue into dead deliveries, which can be retried', async () => {
      const session = await keepMqttSession('own_ann');
      const { ownerId, deviceId } = session;
      await enqueue(session, 'n1', 'n2');
      const failure = { error: 'The queue is full', at: time };
      await store.mqttQueues.deadLetter(session, [{ notificationId: 'n1', qos: 1 }], failure);
      assert.deepEqual(await waitingIds(session), ['n2']);
      const [dead] = await store.deliveries.list({ ownerId, state: 'dead', limit: 10 });
      assert.deepEqual(
        [dead?.notificationId, dead?.channel, dead?.target, dead?.error],
        ['n1', 'mqtt', deviceId, failure.error],
      );
      assert.equal(await store.deliveries.retry(dead === undefined ? [] : [dead], time), 1);
    });

    test('deletes queued messages of deleted notifications', async () => {
      const session = await keepMqttSession('own_ann');
      await enqueue(session, 'n1', 'n2');
      assert.equal(await store.mqttQueues.purge(), 2);
      assert.deepEqual(await waitingIds(session), []);
    });

    test('purges MQTT sessions that were not seen for long, and deletes sessions with their device', async () => {
      const old = await keepMqttSession('own_ann', 'old');
      const gone = await keepMqttSession('own_bob');
      time += dayMs;
      const kept = await keepMqttSession('own_ann', 'kept');
      for (const session of [old, gone, kept]) await enqueue(session, 'n1');
      await store.devices.delete(gone.deviceId);
      assert.equal(await store.mqttSessions.purge(time), 1);
      assert.equal(await store.mqttSessions.purge(time), 0);
      assert.deepEqual(await store.mqttSessions.list(), [kept]);
      assert.deepEqual([await waitingIds(old), await waitingIds(gone), await waitingIds(kept)], [[], [], ['n1']]);
      const ofDevice = { ...old, clientId: '' };
      assert.deepEqual(await waitingIds(ofDevice), ['n1'], 'messages of the session are queued for its device');
    });

    test('deletes MQTT sessions with their owner', async () => {
      const session = await keepMqttSession('own_ann');
      await enqueue(session, 'n1');
      await store.owners.delete('own_ann');
      assert.deepEqual(await store.mqttSessions.list(), []);
      assert.deepEqual(await waitingIds(session), []);
    });

    test('counts the requests of keys across processes, each key in its own window', async () => {
      const other = await openAnother();
      const count = (from: Store, count: number, keyId = 'key_1', windowMs = 60_000) =>
        from.limits.count([{ ownerId: 'own_ann', keyId, windowMs, count }]).then(([standing]) => standing);
      const used = async (...args: Parameters<typeof count>) => (await count(...args))?.used;
      const first = await count(store, 2);
      assert.equal(first?.used, 2);
      assert.ok(first.msLeft > 59_000 && first.msLeft <= 60_000, `${first.msLeft}`);
      assert.equal(await used(other, 3), 5);
      assert.equal(await used(store, 1, 'key_2'), 1);
      assert.equal(await used(store, 1, 'key_1', 1000), 1);
      const many = ['key_2', 'key_3', 'key_1'].map((keyId) => ({
        ownerId: 'own_ann',
        keyId,
        windowMs: 60_000,
        count: 1,
      }));
      const standings = await Promise.all([store.limits.count(many), other.limits.count(many.toReversed())]);
      const sums = standings.flat().map((standing) => standing.used);
      assert.deepEqual(
        sums.toSorted((a, b) => a - b),
        [1, 2, 2, 3, 6, 7],
        'in the order of the request',
      );
      assert.ok((standings[0]?.[2]?.used ?? 0) >= 6 && (standings[1]?.[0]?.used ?? 0) >= 6);
    });

    test('returns the use of the daily quota of an owner', async () => {
      assert.deepEqual(await store.limits.readQuotaUse('own_ann'), { rows: 0, bytes: 0 });
      const windowMs = 60_000;
      await store.limits.count([
        { ownerId: 'own_ann', keyId: 'quota_rows', windowMs, count: 3 },
        { ownerId: 'own_ann', keyId: 'quota_bytes', windowMs, count: 5_000_000_000 },
        { ownerId: 'own_ann', keyId: 'key_1', windowMs, count: 7 },
      ]);
      assert.deepEqual(await store.limits.readQuotaUse('own_ann'), { rows: 3, bytes: 5_000_000_000 });
      assert.deepEqual(await store.limits.readQuotaUse('own_bob'), { rows: 0, bytes: 0 });
    });

    test('keeps a count that a clock running ahead has made, for one window from now', async () => {
      const count = async (windowMs: number) => {
        const [standing] = await store.limits.count([{ ownerId: 'own_ann', keyId: 'quota_rows', windowMs, count: 1 }]);
        return standing;
      };
      await count(60_000);
      await fixture.runSql(`update request_counts set resets_at = resets_at + ${7 * dayMs}`);
      assert.deepEqual(await store.limits.readQuotaUse('own_ann'), { rows: 1, bytes: 0 });
      assert.deepEqual(await count(60_000), { used: 2, msLeft: 60_000 });
    });

    test('counts from zero after the end of a window, and deletes the counts of an owner with the owner', async () => {
      const count = async (windowMs: number) => {
        const [standing] = await store.limits.count([{ ownerId: 'own_ann', keyId: 'key_1', windowMs, count: 1 }]);
        return standing?.used;
      };
      // The clock is that of the database.
      assert.equal(await count(50), 1);
      await delay(60);
      assert.equal(await count(50), 1);
      await store.owners.create(owner('own_ann'));
      assert.equal(await count(60_000), 1);
      assert.equal(await count(60_000), 2);
      await store.owners.delete('own_ann');
      assert.equal(await count(60_000), 1);
    });
  });
}
