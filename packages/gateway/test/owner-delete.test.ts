// Deleting an owner shreds the data key: an attacker who gets the files and the master key later can decrypt nothing.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { addCredentialRows } from '@tocsin/test-support/credential-rows.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { install } from '@tocsin/test-support/install.ts';
import { pauseBetweenRequests } from '@tocsin/test-support/pace.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import { openStore } from '../src/store/open-store.ts';
import type { SaveOptions, Store } from '../src/usecases/ports/index.ts';
import {
  createDevice,
  createKey,
  createOwner,
  systemEnvironment as environment,
} from '../src/usecases/registration.ts';

const newId = createUuidV7Source(Date.now, randomUUID);

test('No file holds the wrapped data key of a deleted owner, also while a server runs under load', async (t) => {
  const installation = await install(t);
  const gateway = await installation.serve();
  const { id } = await installation.json('owner', 'create', '--name', 'To be deleted');
  const { key } = await installation.json('key', 'create', '--owner', id as string);
  const stop = new AbortController();
  const load = Array.from({ length: 4 }, async () => {
    while (!stop.signal.aborted) {
      assert.equal((await notify(gateway, { title: 'load' })).body.stored, true);
      await pauseBetweenRequests();
    }
  });
  assert.equal((await notify({ api: gateway.api, key: key as string }, { title: 'theirs' })).body.stored, true);
  const wrapped = wrappedKeys(installation.dataDir).get(id as string);
  assert.deepEqual(await tracesIn(installation.dataDir, [wrapped]), ['found'], 'it is found while the owner exists');
  await installation.json('owner', 'delete', id as string);
  assert.deepEqual(await tracesIn(installation.dataDir, [wrapped]), []);
  stop.abort();
  await Promise.all(load);
  await eventually(
    'the key of a deleted owner is refused',
    1000,
    () => notify({ api: gateway.api, key: key as string }, { title: 'late' }),
    ({ status }) => status === 401,
  );
  assert.deepEqual(await tracesIn(installation.dataDir, [wrapped]), []);
});

test('Pages that were split and merged do not hold it either', async (t) => {
  const { store, dataDir } = await open(t);
  const ids: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const made = Array.from({ length: 150 }, (_, index) =>
      createOwner(store, environment, { name: `Owner ${index}`, email: null, emailAlerts: false }),
    );
    ids.push(...(await Promise.all(made)).map(({ id }) => id));
  }
  const before = wrappedKeys(dataDir);
  const gone = ids.filter((_, index) => index % 3 !== 0);
  await Promise.all(gone.map((id) => store.owners.delete(id)));
  assert.equal(wrappedKeys(dataDir).size, ids.length - gone.length);
  assert.deepEqual(
    await tracesIn(
      dataDir,
      gone.map((id) => before.get(id)),
    ),
    [],
  );
});

test('No table keeps a row of a deleted owner, and rows of other owners stay', async (t) => {
  const { store, dataDir } = await open(t);
  const [ann, bob] = [await fill(store, 'Ann', 1100), await fill(store, 'Bob', 2)];
  const before = rowsOf(dataDir, bob);
  const filled = Object.entries(rowsOf(dataDir, ann)).filter(([, count]) => count > 0);
  assert.ok(filled.length >= 15, `too little to delete: ${filled.join(' ')}`);
  assert.equal(await store.owners.delete(ann), true);
  assert.deepEqual(
    Object.entries(rowsOf(dataDir, ann)).filter(([, count]) => count > 0),
    [],
  );
  assert.deepEqual(rowsOf(dataDir, bob), before);
  assert.equal(await store.owners.delete(ann), false);
});

async function open(t: TestContext): Promise<{ store: Store; dataDir: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-delete-'));
  const store = await openStore({ dataDir, masterKey: null }, 'create');
  t.after(async () => {
    await store.close();
    await rm(dataDir, { recursive: true });
  });
  return { store, dataDir };
}

/** Creates a row in every table that is keyed by owner. */
async function fill(store: Store, name: string, count: number): Promise<string> {
  const { id: ownerId } = await createOwner(store, environment, { name, email: null, emailAlerts: false });
  await createKey(store, environment, { ownerId, type: 'public_client' });
  const { device } = await createDevice(store, environment, { ownerId, name, topicPrefix: 'tocsin', urls: [] });
  const target = { id: `psh_${name}`, ownerId, provider: 'fcm', token: 'token', label: null } as const;
  await store.pushTargets.create({ ...target, createdAt: 1, disabledAt: null });
  await store.signatures.claim(ownerId, 'signature', Date.now());
  const session = { ownerId, deviceId: device.id, clientId: 'client' };
  await store.mqttSessions.save({ ...session, subscriptions: [], seenAt: 1 });
  const dispatch = { qos: 1, isStrict: false, push: [], email: true, mqtt: [] } as const;
  const now = Date.now();
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const notification = { id: newId(), ownerId, createdAt: now, content: sampleContent({ title: name }) };
      const idempotency = { keyDigest: `key ${index}`, fingerprint: '', expiresAt: now + 60_000 };
      const options: SaveOptions = { dispatch, idempotency, leaseUntil: now };
      await store.notifications.save(notification, options);
      await store.mqttQueues.enqueue([{ queue: session, notificationId: notification.id, qos: 1 }]);
      const failed = {
        ...({ ownerId, notificationId: notification.id, channel: 'email', target: '', state: 'waiting' } as const),
        ...({
          attempts: 0,
          qos: 1,
          createdAt: now,
          nextAt: now,
          notBefore: 0,
          expiresAt: now,
          endedAt: null,
          error: '',
        } as const),
      };
      const results = { push: [], email: ['retry'], mqtt: [] } as const;
      await store.dispatches.settle([{ ownerId, notificationId: notification.id, results, failed: [failed] }]);
    }),
  );
  const [newest] = (await store.notifications.list(ownerId, { limit: 1 })).notifications;
  await addCredentialRows(store, ownerId, newest?.id as string);
  return ownerId;
}

function read<T>(dataDir: string, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dataDir, 'tocsin.db'), { readOnly: true, timeout: 2000 });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

function wrappedKeys(dataDir: string): Map<string, Uint8Array> {
  const rows = read(dataDir, (db) => db.prepare('SELECT owner_id, wrapped FROM data_keys').all());
  return new Map(rows.map((row) => [row.owner_id as string, row.wrapped as Uint8Array]));
}

/** The number of rows of this owner by table. */
function rowsOf(dataDir: string, ownerId: string): Record<string, number> {
  return read(dataDir, (db) => {
    const tables = db
      .prepare(
        `SELECT tables.name FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns
         WHERE columns.name = 'owner_id' ORDER BY tables.name`,
      )
      .all()
      .map(({ name }) => String(name));
    const count = (table: string) =>
      db.prepare(`SELECT count(*) AS count FROM "${table}" WHERE owner_id = ?`).get(ownerId)?.count as number;
    return Object.fromEntries(tables.map((table) => [table, count(table)]));
  });
}

/** Returns the values of which any 16-byte part is found in a file, since a page may have kept a fragment. */
async function tracesIn(dataDir: string, values: readonly (Uint8Array | undefined)[]): Promise<'found'[]> {
  const names = (await readdir(dataDir)).filter((name) => name.startsWith('tocsin.db'));
  const files = await Promise.all(names.map((name) => readFile(join(dataDir, name))));
  return values
    .filter((value) => {
      assert.ok(value);
      const pieces = [3, 19, 35, 47].map((from) => value.subarray(from, from + 16));
      return pieces.some((piece) => files.some((bytes) => bytes.includes(piece)));
    })
    .map(() => 'found');
}
