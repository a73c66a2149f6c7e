// The console at its limits, with damaged rows, and with concurrent changes.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { ConsoleError, KeyEntry, OwnerOverview, Preferences } from '@tocsin/contract/console';
import type { ConsoleClient } from '@tocsin/test-support/console-client.ts';
import { type LocalConsole, startLocalConsole } from '@tocsin/test-support/local-console.ts';
import { DecryptionFailed, type Store } from '../src/usecases/ports/index.ts';
import { createDevice, createKey, createOwner, systemEnvironment } from '../src/usecases/registration.ts';

suite('The settings in the console', () => {
  let local: LocalConsole;
  let ann: ConsoleClient;
  let damagedOwner: string | null = null;
  /** Runs between the authentication of a request and its effect. */
  let meanwhile: () => Promise<unknown> = async () => undefined;

  const watched = (store: Store): Store => ({
    ...store,
    owners: {
      ...store.owners,
      list: async (onDamaged) => {
        if (damagedOwner !== null && onDamaged === undefined) throw new DecryptionFailed('altered');
        const owners = await store.owners.list(onDamaged);
        if (damagedOwner !== null) onDamaged?.(damagedOwner);
        return owners.filter(({ id }) => id !== damagedOwner);
      },
      find: async (id) => {
        if (id === damagedOwner) throw new DecryptionFailed('altered');
        const owner = await store.owners.find(id);
        await meanwhile();
        return owner;
      },
    },
  });

  before(async () => {
    local = await startLocalConsole({ wrapStore: watched, parts: { mailer: null } });
    ann = await local.signIn();
  });
  after(() => local.stop());

  const newKey = { type: 'public_client', label: null, allowedDomains: [], requireSignature: false };
  const subscription = (name: string) => ({
    endpoint: `https://push.example/${name}`,
    keys: { p256dh: 'p', auth: 'a' },
  });

  test('allow a thousand keys and devices and a hundred push targets per owner, and then name a remedy', async () => {
    const { id: ownerId } = local.owner;
    const wanted = { ownerId, name: 'Phone', topicPrefix: 'tocsin', urls: [] };
    const many = Array.from({ length: 999 }, (_, count) => count);
    await Promise.all(many.map(() => createDevice(local.store, systemEnvironment, wanted)));
    await Promise.all(many.map(() => createKey(local.store, systemEnvironment, { ownerId, type: 'public_client' })));
    const addPushTarget = (name: string) =>
      ann.post('/api/push-targets', { label: name, subscription: subscription(name) });
    for (const count of many.slice(0, 99)) assert.equal((await addPushTarget(`browser ${count}`)).status, 201);

    for (const [what, add] of [
      ['keys', () => ann.post('/api/keys', newKey)],
      ['devices', () => ann.post('/api/devices', { name: 'One more' })],
      ['push targets', () => addPushTarget('the last')],
    ] as const) {
      assert.equal((await add()).status, 201, what);
      const { status, body } = what === 'push targets' ? await addPushTarget('too many') : await add();
      assert.deepEqual([status, body.code], [409, 'conflict'], what);
      assert.match(String(body.error), new RegExp(`Limit reached: (1,000|100) ${what}\\. \\w+ unused ${what}\\.`));
    }
    assert.equal((await addPushTarget('the last')).status, 201, 'a known browser can renew its subscription');
    const [{ id } = { id: '' }] = (await ann.get<{ keys: KeyEntry[] }>('/api/keys')).body.keys;
    assert.equal((await ann.delete(`/api/keys/${id}`)).status, 200);
    assert.equal((await ann.post('/api/keys', newKey)).status, 201, 'a revoked key does not count');
  });

  test('show operators the other owners if the row of one is damaged', async (t) => {
    const bob = await createOwner(local.store, systemEnvironment, { name: 'Bob', email: null, emailAlerts: false });
    const boss = { name: 'Boss', email: null, emailAlerts: false, role: 'operator' } as const;
    const operator = await local.signIn((await createOwner(local.store, systemEnvironment, boss)).id);
    damagedOwner = bob.id;
    t.after(() => {
      damagedOwner = null;
    });
    const { status, body } = await operator.get<{ owners: OwnerOverview[] }>('/api/operator/owners');
    assert.equal(status, 200);
    assert.deepEqual(body.owners.map(({ name }) => name).sort(), ['Ann', 'Boss']);
    assert.deepEqual(local.failures.splice(0).map(String), [`Error: The owner ${bob.id} cannot be decrypted.`]);
    const added = await operator.post('/api/operator/owners', { name: 'Carl', email: 'carl@example.com' });
    assert.equal(added.status, 201);
    const invited = await operator.post<ConsoleError>(`/api/operator/owners/${bob.id}/invite`);
    assert.deepEqual([invited.status, invited.body.code], [409, 'conflict']);
    assert.deepEqual(local.failures, []);
  });

  test('keep concurrent changes of other fields', async (t) => {
    t.after(() => {
      meanwhile = async () => undefined;
    });
    const before = (await ann.get<Preferences>('/api/preferences')).body;
    meanwhile = () => local.store.owners.change(local.owner.id, (owner) => ({ ...owner, email: 'new@example.com' }));
    assert.equal((await ann.put('/api/preferences', { ...before, name: 'Ann B' })).status, 200);
    meanwhile = async () => undefined;
    const { name, email } = (await local.store.owners.find(local.owner.id)) ?? {};
    assert.deepEqual({ name, email }, { name: 'Ann B', email: 'new@example.com' });
  });

  test('respond with signed_out after the owner was deleted, also during a request', async (t) => {
    t.after(() => {
      meanwhile = async () => undefined;
    });
    const preferences = { name: 'Gone', emailAlerts: false, quietHours: null, retentionDays: null };
    for (const act of [
      (client: ConsoleClient) => client.put<ConsoleError>('/api/preferences', preferences),
      (client: ConsoleClient) => client.post<ConsoleError>('/api/devices', { name: 'Phone' }),
    ]) {
      const gone = await createOwner(local.store, systemEnvironment, { name: 'Gone', email: null, emailAlerts: false });
      const client = await local.signIn(gone.id);
      meanwhile = () => local.store.owners.delete(gone.id);
      const { status, body } = await act(client);
      assert.deepEqual([status, body.code], [401, 'signed_out']);
      meanwhile = async () => undefined;
    }
    assert.deepEqual(local.failures, []);
  });

  test('limit the number of reported problems', async () => {
    const ids = Array.from({ length: 20_000 }, () => 1);
    const { status, body } = await ann.post<ConsoleError>('/api/notifications/delete', { ids });
    assert.equal(status, 400);
    assert.ok((body.details?.length ?? 0) <= 50);
  });
});
