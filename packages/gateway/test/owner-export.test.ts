// All data of an owner in one document, and nothing of other owners.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { launcher } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { RowTamperer } from '@tocsin/test-support/row-tamperer.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import { openStore } from '../src/store/open-store.ts';
import type { Delivery, Notification, Owner, Store } from '../src/usecases/ports/index.ts';
import {
  createDevice,
  createKey,
  createOwner,
  systemEnvironment as environment,
} from '../src/usecases/registration.ts';

interface Export {
  format: string;
  owner: { id: string; name: string; email: string | null };
  keys: { id: string; label: string | null }[];
  devices: { id: string; name: string }[];
  pushTargets: { id: string; token: string }[];
  notifications: { id: string; title: string; data: object; deliveries: { state: string; error: string }[] }[];
  damaged: string[];
}

const newId = createUuidV7Source(Date.now, randomUUID);

test('An export holds all data of the owner, decrypted and oldest first, and lists what cannot be decrypted', async (t) => {
  const { installation, owner, notifications } = await prepare(t, 1203);
  const rows = new RowTamperer(installation.dataDir);
  t.after(() => rows.close());
  const broken = notifications[700] as Notification;
  const sealed = rows.read('notifications', 'sealed', { id: broken.id });
  sealed[20] = (sealed[20] as number) ^ 1;
  rows.update('notifications', { sealed }, { id: broken.id });
  const file = join(installation.dataDir, 'ann.json');
  const { exitCode, stdout, stderr } = await installation.run(['owner', 'export', owner.id, '--output', file]);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /1,202 notifications.*not encrypted/);
  assert.match(stderr, /1 row could not be decrypted/);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const document = JSON.parse(await readFile(file, 'utf8')) as Export;
  assert.equal(document.owner.email, 'ann@example.com');
  assert.deepEqual([document.keys[0]?.label, document.devices[0]?.name], ['key of Ann', 'device of Ann']);
  assert.equal(document.pushTargets[0]?.token, 'token-of-Ann');
  assert.deepEqual(document.damaged, [broken.id]);
  const expected = notifications.filter(({ id }) => id !== broken.id);
  assert.deepEqual(
    document.notifications.map(({ id, title, data }) => ({ id, title, data })),
    expected.map(({ id, content: { title, data } }) => ({ id, title, data })),
  );
  assert.deepEqual(
    document.notifications
      .filter(({ deliveries }) => deliveries.length > 0)
      .map(({ id, deliveries }) => [id, deliveries[0]?.state, deliveries[0]?.error]),
    [[notifications[3]?.id, 'dead', 'mailbox full']],
  );
});

test('An export leaves out a key, a device and a push target that cannot be decrypted, and lists them', async (t) => {
  const { installation, owner } = await prepare(t, 2);
  const rows = new RowTamperer(installation.dataDir);
  t.after(() => rows.close());
  const whole = JSON.parse((await installation.run(['owner', 'export', owner.id])).stdout) as Export;
  const broken = [whole.keys[0]?.id, whole.devices[0]?.id, whole.pushTargets[0]?.id] as [string, string, string];
  for (const [index, table] of ['api_keys', 'devices', 'push_targets'].entries()) {
    const where = { id: broken[index] as string };
    const sealed = rows.read(table, 'sealed', where);
    sealed[20] = (sealed[20] as number) ^ 1;
    rows.update(table, { sealed }, where);
  }
  const { exitCode, stdout, stderr } = await installation.run(['owner', 'export', owner.id]);
  assert.equal(exitCode, 0, stderr);
  const { keys, devices, pushTargets, notifications, damaged } = JSON.parse(stdout) as Export;
  assert.deepEqual([keys, devices, pushTargets], [[], [], []]);
  assert.equal(notifications.length, 2);
  assert.deepEqual(damaged, broken);
});

test('An export holds nothing of other owners, and no digest of a key', async (t) => {
  const { installation, owner, digest } = await prepare(t, 3);
  const { stdout, exitCode } = await installation.run(['owner', 'export', owner.id]);
  assert.equal(exitCode, 0);
  const { damaged, notifications } = JSON.parse(stdout) as Export;
  assert.deepEqual([damaged.length, notifications.length], [0, 3]);
  for (const foreign of ['Bob', 'bob@', digest]) assert.ok(!stdout.includes(foreign), foreign);
});

test('An export does not overwrite a file, and reports an unknown owner', async (t) => {
  const { installation, owner } = await prepare(t, 1);
  const file = join(installation.dataDir, 'precious.txt');
  await writeFile(file, 'precious');
  const refused = await installation.run(['owner', 'export', owner.id, '--output', file]);
  assert.equal(refused.exitCode, 1);
  assert.match(refused.stderr, /precious\.txt already exists/);
  assert.equal(await readFile(file, 'utf8'), 'precious');
  const noOwner = await installation.run([
    'owner',
    'export',
    'own_unknown',
    '--output',
    join(installation.dataDir, 'x'),
  ]);
  assert.equal(noOwner.exitCode, 1);
  assert.match(noOwner.stderr, /There is no owner own_unknown/);
});

test('An empty inbox gives a valid document, and a reader that closes the pipe early is no failure', async (t) => {
  const { installation, owner } = await prepare(t, 0);
  const empty = JSON.parse((await installation.run(['owner', 'export', owner.id])).stdout) as Export;
  assert.deepEqual(empty.notifications, []);
  const large = await prepare(t, 1000);
  const child = spawn(process.execPath, [launcher, 'owner', 'export', large.owner.id], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...large.installation.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.once('data', () => child.stdout.destroy());
  const [exitCode] = await once(child, 'exit');
  assert.equal(exitCode, 0);
});

async function prepare(t: TestContext, count: number) {
  const installation = await install(t);
  const store = await openStore({ dataDir: installation.dataDir, masterKey: null }, 'create');
  const { owner, digest, notifications } = await fill(store, 'Ann', count);
  await fill(store, 'Bob', 2);
  const failed = notifications[3];
  if (failed !== undefined) await markDead(store, failed);
  await store.close();
  return { installation, owner, digest, notifications };
}

async function fill(store: Store, name: string, count: number) {
  const email = `${name.toLowerCase()}@example.com`;
  const owner: Owner = await createOwner(store, environment, { name, email, emailAlerts: true });
  const wanted = { ownerId: owner.id, type: 'public_client', label: `key of ${name}` } as const;
  const { key } = await createKey(store, environment, wanted);
  await createDevice(store, environment, {
    ownerId: owner.id,
    name: `device of ${name}`,
    topicPrefix: 'tocsin',
    urls: [],
  });
  const target = { id: `psh_${name}`, ownerId: owner.id, provider: 'fcm', token: `token-of-${name}` } as const;
  await store.pushTargets.create({ ...target, label: null, createdAt: 1, disabledAt: null });
  const notifications = Array.from(
    { length: count },
    (_, index): Notification => ({
      id: newId(),
      ownerId: owner.id,
      createdAt: Date.now(),
      content: sampleContent({ title: `${name} ${index}`, body: 'body', data: { index } }),
    }),
  );
  const dispatch = { qos: 1, isStrict: false, push: [], email: true, mqtt: [] } as const;
  const options = { dispatch, idempotency: null, leaseUntil: Date.now() + 60_000 };
  await Promise.all(notifications.map((notification) => store.notifications.save(notification, options)));
  return { owner, digest: key.digest, notifications };
}

async function markDead(store: Store, { ownerId, id }: Notification): Promise<void> {
  const now = Date.now();
  const delivery: Delivery = {
    ...{ ownerId, notificationId: id, channel: 'email', target: '', state: 'dead', attempts: 7, qos: 1 },
    ...{ createdAt: now, nextAt: null, notBefore: 0, expiresAt: now, endedAt: now, error: 'mailbox full' },
  };
  const results = { push: [], email: ['retry'], mqtt: [] } as const;
  await store.dispatches.settle([{ ownerId, notificationId: id, results, failed: [delivery] }]);
}
