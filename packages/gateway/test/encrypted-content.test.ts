// User content is encrypted in the store, each value bound to its own row and column, and leaks nowhere else.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { addCredentialRows } from '@tocsin/test-support/credential-rows.ts';
import { findTraces } from '@tocsin/test-support/find-traces.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { notify, signedHeaders } from '@tocsin/test-support/requests.ts';
import { flippedBits, flippedBytes, RowTamperer } from '@tocsin/test-support/row-tamperer.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { withStore } from '@tocsin/test-support/stored-notifications.ts';
import { digestOf } from '../src/core/key-format.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import { transferTables } from '../src/store/copy/transfer-tables.ts';
import { createSqliteDatabase } from '../src/store/sqlite/database.ts';
import { encryptedColumns } from '../src/store/upkeep/encrypted-columns.ts';
import { Keyring } from '../src/store/vault/keyring.ts';
import { masterKeySource } from '../src/store/vault/master-key.ts';
import { MasterKeyring } from '../src/store/vault/master-keyring.ts';
import { createHook } from '../src/usecases/hooks.ts';
import type { Delivery, Notification, Store } from '../src/usecases/ports/index.ts';
import {
  createDevice,
  createKey,
  createOwner,
  systemEnvironment as environment,
} from '../src/usecases/registration.ts';

/** May be in a response, but neither in a file nor in the log. */
const content = {
  title: 'canary-title-7Kq2',
  body: 'canary-body-Wm4x "quoted" \u00e9',
  source: 'canary-source-p9Tz',
  dataName: 'canary-data-name-b3Rf',
  dataValue: 'canary-data-value-Yh6n',
  payloadValue: 'canary-payload-value-D8sL',
  otherField: 'canary-other-field-c5Vg',
  ownerName: 'canary-owner-name-Jx1k',
  ownerEmail: 'canary-owner-email@e7pq.example',
  deviceName: 'canary-device-name-Fz0w',
  keyLabel: 'canary-key-label-Nu5d',
  allowedDomain: 'canary-allowed-domain-8vbt.example',
  refusedTitle: 'canary-refused-title-Ga2m',
  malformed: 'canary-malformed-body-Sk7j',
  foreignOrigin: 'canary-foreign-origin-4hxe.example',
  userAgent: 'canary-user-agent-Oi3c',
  path: 'canary-path-Lr8y',
  contentType: 'canary-content-type-Xe6u',
};

/** Must not be in a response either. */
const secrets = {
  typoKey: 'svc_canaryTypoKey0000000000000000000000QQ',
  brokerHost: 'canary-broker-host-t2dz.example',
  brokerUser: 'canary-broker-user-Vb9r',
  brokerPassword: 'canary-broker-password-Hq4a',
  brokerClient: 'canary-broker-client-Mw7s',
  brokerTopic: 'canary-broker-topic/Zc1o',
};

test('Neither files nor log nor responses contain secrets, whatever was sent', async (t) => {
  const installation = await install(t, { TOCSIN_LOG_LEVEL: 'debug' });
  const gateway = await installation.serve();
  const owner = await installation.json('owner', 'create', '--name', content.ownerName, '--email', content.ownerEmail);
  const ofOwner = ['--owner', owner.id as string];
  const { key } = await installation.json<{ key: string }>(
    ...['key', 'create', ...ofOwner, '--label', content.keyLabel, '--domain', content.allowedDomain],
  );
  const device = await installation.json<{ id: string; mqtt: { password: string } }>(
    ...['device', 'create', ...ofOwner, '--name', content.deviceName],
  );
  const allSecrets = { ...secrets, key, devicePassword: device.mqtt.password };

  const answers = await sendEverything(gateway, key, device.id);
  const listed = [
    await installation.run(['key', 'list', ...ofOwner, '--json']),
    await installation.run(['device', 'list', ...ofOwner, '--json']),
  ];
  const inFilesAndLog = { ...content, ...allSecrets };
  const whileRunning = await readFiles(installation.dataDir);
  await gateway.stop();
  const afterStop = await readFiles(installation.dataDir);

  assert.ok(whileRunning.has('tocsin.db-wal'), 'the write-ahead log of the database was checked');
  for (const files of [whileRunning, afterStop]) {
    const all = Buffer.concat([...files.values()]);
    assert.deepEqual(findTraces(all, { owner: owner.id as string }), ['owner'], 'plaintext is found');
    for (const [name, bytes] of files) assert.deepEqual(findTraces(bytes, inFilesAndLog), [], `traces in ${name}`);
  }
  assert.match(gateway.log, /"status":200/, 'the log was written at its most verbose level');
  assert.deepEqual(findTraces(Buffer.from(gateway.log), inFilesAndLog), [], 'traces in the log');
  for (const answer of answers) {
    assert.deepEqual(findTraces(Buffer.from(answer), allSecrets), [], `traces in the response ${answer}`);
  }
  for (const { exitCode, stdout } of listed) {
    assert.equal(exitCode, 0);
    assert.deepEqual(findTraces(Buffer.from(stdout), allSecrets), [], 'traces in a list');
  }
  assert.equal((await stat(join(installation.dataDir, 'master.key'))).mode & 0o777, 0o600);
});

/** Valid, refused and malformed requests; returns every response with its headers as text. */
async function sendEverything(gateway: GatewayProcess, key: string, deviceId: string): Promise<string[]> {
  const { title, body, source } = content;
  const answers: string[] = [];
  const send = async (wanted: number, value: unknown, headers: Record<string, string> = {}): Promise<void> => {
    const agent = { 'User-Agent': content.userAgent };
    const answer = await notify({ api: gateway.api, key }, value, { ...agent, ...headers });
    assert.equal(answer.status, wanted, JSON.stringify(answer.body));
    if (wanted === 200) assert.equal(answer.body.stored, true);
    answers.push(JSON.stringify([[...answer.headers], answer.body]));
  };
  const broker = {
    url: `wss://${secrets.brokerHost}/mqtt`,
    username: secrets.brokerUser,
    password: secrets.brokerPassword,
    clientId: secrets.brokerClient,
    topic: secrets.brokerTopic,
  };
  const custom = { mqttConnection: { mode: 'custom' }, mqttConfig: broker };
  const refused = content.refusedTitle;
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };

  await send(200, {
    ...{ title, body, source, deviceId, [content.otherField]: content.otherField },
    data: { [content.dataName]: content.dataValue, nested: { list: [content.dataValue] } },
    payload: { more: content.payloadValue, mqttConfig: broker },
  });
  await send(200, { title, sendMqtt: false, ...custom });
  await send(200, { title, mqttConfig: broker });
  await send(200, body, { 'Content-Type': 'text/plain' });
  await send(200, new URLSearchParams({ title, payload: JSON.stringify({ mqttConfig: broker }) }).toString(), form);
  await send(200, { title }, { Origin: `https://${content.allowedDomain}` });
  const signedBody = JSON.stringify({ title });
  await send(200, signedBody, signedHeaders(key, signedBody));

  await send(502, { title, strictDelivery: true, ...custom });
  await send(400, { title: refused, ...custom, mqttConfig: { ...broker, password: [secrets.brokerPassword] } });
  await send(400, { title: refused, ...custom, mqttConfig: { ...broker, [secrets.brokerPassword]: 1 } });
  await send(400, {
    ...{ title: refused, mqttConnection: { mode: 'custom' } },
    mqttConfig: { url: `wss://${secrets.brokerUser}:${secrets.brokerPassword}@${secrets.brokerHost}` },
  });
  await send(400, { title: refused, mqttConnection: { mode: secrets.brokerPassword } });
  await send(400, { title: { [refused]: refused }, source: [refused] });
  await send(400, `{"title":"${content.malformed}","mqttConfig":{"password":"${secrets.brokerPassword}"`);
  await send(400, `title=${content.malformed}&body=%ff`, form);
  await send(401, { title: refused }, { Origin: `https://${content.foreignOrigin}` });
  await send(401, { title: refused }, { Authorization: `Bearer ${secrets.typoKey}` });
  await send(401, { title: refused }, { 'X-API-Key': secrets.typoKey });
  await send(401, signedBody, { 'X-Timestamp': content.malformed, 'X-Signature': content.malformed });
  await send(404, { title: refused, deviceId: content.malformed });
  await send(413, { title: refused, data: { filler: content.malformed.repeat(20_000) } });
  await send(415, { title: refused }, { 'Content-Type': `text/${content.contentType}` });

  const paths = [`/${content.path}`, `/?key=${key}&path=${content.path}`, `/${key}`];
  answers.push(
    ...(await Promise.all(paths.map((path) => sendRaw(gateway, `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)))),
    await sendRaw(gateway, `POST / HTTP/1.1\r\nHost: h\r\nX-API-Key: ${key}\r\n${content.malformed}\r\n\r\n`),
    await sendRaw(gateway, `${content.malformed} ${key} ${secrets.brokerPassword}\r\n\r\n`),
  );
  return answers;
}

async function sendRaw(gateway: GatewayProcess, request: string): Promise<string> {
  const { hostname, port } = new URL(gateway.api);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
    socket.end();
  });
  // A reset after the response is a valid end.
  socket.on('error', () => socket.destroy());
  socket.write(request);
  await new Promise((resolve) => socket.once('close', resolve));
  assert.match(answer, /^HTTP\/1\.1 [24]\d\d /);
  return answer;
}

async function readFiles(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(
    await Promise.all(files.map(async (file) => [file.slice(folder.length + 1), await readFile(file)] as const)),
  );
}

describe('An encrypted value can be decrypted only unaltered and in its own place:', () => {
  test('a notification with a flipped bit, or a byte removed or added, is damaged, and the others can be decrypted', () =>
    withTwoOwners(async ({ store, rows, first, second }) => {
      const [kept, damaged, alsoKept] = first.notifications;
      const where = { owner_id: first.ownerId, id: damaged.id };
      const original = rows.read('notifications', 'sealed', where);
      const lengths = Array.from(original, (_, length) => original.subarray(0, length));
      for (const sealed of [...flippedBits(original), ...lengths, Buffer.concat([original, Buffer.alloc(1)])]) {
        rows.update('notifications', { sealed }, where);
        const page = await store.notifications.list(first.ownerId, { limit: 10 });
        assert.deepEqual(page.damaged, [damaged.id]);
        assert.deepEqual(
          page.notifications.map(({ content }) => content.title),
          [alsoKept.content.title, kept.content.title],
        );
      }
      assert.deepEqual((await store.notifications.list(second.ownerId, { limit: 10 })).damaged, []);
      rows.update('notifications', { sealed: original }, where);
      assert.equal((await store.notifications.list(first.ownerId, { limit: 10 })).notifications.length, 3);
    }));

  test('a notification moved to another owner or another id is damaged there', () =>
    withTwoOwners(async ({ store, rows, first, second }) => {
      const [moved, renamed] = first.notifications;
      rows.update('notifications', { owner_id: second.ownerId }, { owner_id: first.ownerId, id: moved.id });
      const newId = moved.id.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
      rows.update('notifications', { id: newId }, { owner_id: first.ownerId, id: renamed.id });
      const pages = await Promise.all(
        [first, second].map(({ ownerId }) => store.notifications.list(ownerId, { limit: 10 })),
      );
      assert.deepEqual(
        pages.map(({ damaged }) => damaged),
        [[newId], [moved.id]],
      );
      assert.deepEqual(
        pages.map(({ notifications }) => notifications.length),
        [1, 3],
      );
    }));

  test('the encrypted values of two notifications of one owner cannot be swapped', () =>
    withTwoOwners(async ({ store, rows, first }) => {
      const [one, other] = first.notifications;
      const [sealedOne, sealedOther] = [one, other].map(({ id }) =>
        rows.read('notifications', 'sealed', { owner_id: first.ownerId, id }),
      );
      rows.update('notifications', { sealed: sealedOther as Buffer }, { id: one.id });
      rows.update('notifications', { sealed: sealedOne as Buffer }, { id: other.id });
      const { damaged } = await store.notifications.list(first.ownerId, { limit: 10 });
      assert.deepEqual(damaged.sort(), [one.id, other.id].sort());
    }));

  for (const table of ['owners', 'devices', 'api_keys'] as const) {
    test(`a row of ${table} with a flipped byte, from another row or for another owner is refused`, () =>
      withTwoOwners(async ({ store, rows, first, second }) => {
        const read = (of: OwnerWithRows): Promise<unknown> => readRow(store, table, of);
        const intact = [await read(first), await read(second)];
        const where = { id: first.ids[table] };
        const original = rows.read(table, 'sealed', where);
        const foreign = rows.read(table, 'sealed', { id: second.ids[table] });
        for (const sealed of [...flippedBytes(original), foreign]) {
          rows.update(table, { sealed }, where);
          await assert.rejects(read(first), /cannot be decrypted/);
          assert.deepEqual(await read(second), intact[1]);
        }
        rows.update(table, { sealed: original }, where);
        assert.deepEqual(await read(first), intact[0]);

        const id = `${first.ids[table]}x`;
        rows.update(table, { id }, where);
        const renamed = { ...first, ids: { ...first.ids, [table]: id } };
        await assert.rejects(readRow(store, table, renamed), /cannot be decrypted|no data key/);
        if (table === 'owners') return;
        rows.update(table, { id: first.ids[table], owner_id: second.ownerId }, { id });
        await assert.rejects(table === 'devices' ? read(second) : read(first), /cannot be decrypted/);
      }));
  }

  test('the digest of a key cannot be assigned to another key', () =>
    withTwoOwners(async ({ store, rows, first, second }) => {
      const digest = String(rows.read('api_keys', 'digest', { id: second.ids.api_keys }));
      rows.update('api_keys', { digest: 'aside' }, { id: second.ids.api_keys });
      rows.update('api_keys', { digest }, { id: first.ids.api_keys });
      await assert.rejects(store.keys.find(digest), /was altered/);
    }));

  test('a token cannot be assigned to another hook', () =>
    withTwoOwners(async ({ store, rows, first, second }) => {
      const { hook } = await createHook(store, environment, { ownerId: first.ownerId, name: 'first' });
      const { token } = await createHook(store, environment, { ownerId: second.ownerId, name: 'second' });
      const digest = digestOf(token);
      assert.equal((await store.hooks.find(digest))?.name, 'second');
      rows.update('hook_tokens', { hook_id: hook.id, owner_id: first.ownerId }, { digest });
      assert.equal(await store.hooks.find(digest), null);
    }));

  test('a value from another table is refused, even under the same owner and id', () =>
    withTwoOwners(async ({ store, rows, first }) => {
      const { ownerId } = first;
      const sealed = rows.read('owners', 'sealed', { id: ownerId });
      rows.update('devices', { id: ownerId, sealed }, { id: first.ids.devices });
      await assert.rejects(store.devices.list(ownerId), { name: 'DecryptionFailed' });
      assert.equal((await store.owners.find(ownerId))?.name, 'first');
    }));

  test('the wrapped data key of an owner with a flipped byte, of another owner or version is missing', () =>
    withTwoOwners(async ({ dataDir, rows, first, second }) => {
      const database = createSqliteDatabase(join(dataDir, 'tocsin.db'));
      try {
        const source = masterKeySource(null, join(dataDir, 'master.key'));
        const keyring = new Keyring(database, await MasterKeyring.open(database, source, () => undefined));
        const load = (ownerId: string): Promise<unknown> => {
          keyring.forget(ownerId);
          return keyring.current(ownerId);
        };
        const where = { owner_id: first.ownerId };
        const original = rows.read('data_keys', 'wrapped', where);
        const foreign = rows.read('data_keys', 'wrapped', { owner_id: second.ownerId });
        for (const wrapped of [...flippedBytes(original), foreign]) {
          rows.update('data_keys', { wrapped }, where);
          await assert.rejects(load(first.ownerId), { name: 'EncryptionKeyMissing' });
        }
        rows.update('data_keys', { wrapped: original, version: 2 }, where);
        await assert.rejects(load(first.ownerId), { name: 'EncryptionKeyMissing' });
        rows.update('data_keys', { version: 1 }, where);
        assert.ok(await load(first.ownerId));
        assert.ok(await load(second.ownerId));
      } finally {
        await database.close();
      }
    }));
});

describe('A damaged row affects nothing else:', () => {
  test('inbox and doctor report a notification that cannot be decrypted, and the inbox lists the others', async (t) => {
    const { installation, gateway, rows } = await startTampered(t);
    const ids: string[] = [];
    for (const title of ['first', 'second', 'third']) ids.push((await notify(gateway, { title })).body.id);
    const damaged = ids[1] as string;
    await gateway.stop();
    damage(rows, 'notifications', 'sealed', { id: damaged });

    const inbox = await installation.run(['inbox', 'list', '--json']);
    assert.equal(inbox.exitCode, 0);
    assert.deepEqual(
      (JSON.parse(inbox.stdout) as { title: string }[]).map(({ title }) => title),
      ['third', 'first'],
    );
    assert.match(inbox.stderr, new RegExp(`${damaged} cannot be decrypted`));
    const doctor = await installation.run(['doctor', '--deep']);
    assert.equal(doctor.exitCode, 1);
    assert.match(doctor.stdout, new RegExp(`FAILED .*${damaged}`));
  });

  for (const { table, column } of encryptedColumns) {
    test(`a full verification finds one damaged value of ${table}, and finds nothing before`, () =>
      withTwoOwners(async ({ dataDir, store, rows, first }) => {
        await fillEveryTable(store, first);
        assert.deepEqual(await store.maintenance.verify(), []);
        const [where] = rowIds(dataDir, table);
        damage(rows, table, column, where as Record<string, string>);
        // Another store, which has decrypted nothing yet.
        await withStore(dataDir, async (fresh) => {
          const problems = await fresh.maintenance.verify();
          const id = Object.values(where as object).join('/');
          assert.ok(
            problems.some((problem) => problem.startsWith(`${table} ${id}: `)),
            `${id}: ${problems.join('; ')}`,
          );
        });
      }));
  }

  test('a data key without an owner is verified, and orphaned rows of an owner who was removed with SQL are no damage', () =>
    withTwoOwners(async ({ dataDir, rows, first, second }) => {
      rows.remove('owners', { id: first.ownerId });
      rows.remove('owners', { id: second.ownerId });
      rows.remove('data_keys', { owner_id: second.ownerId });
      damage(rows, 'data_keys', 'wrapped', { owner_id: first.ownerId });
      await withStore(dataDir, async (store) => {
        const problems = await store.maintenance.verify();
        const missing = [first, second].map(({ ownerId }) => `owners ${ownerId}`).sort();
        assert.deepEqual(problems.map((problem) => problem.split(':')[0]).sort(), [
          `data_keys ${first.ownerId}/1`,
          ...missing,
        ]);
      });
    }));

  test('the list of encrypted columns holds every binary column', () => {
    const inSchema = transferTables().flatMap(({ name, columns }) =>
      columns.filter(({ kind }) => kind === 'bytes').map((column) => `${name}.${column.name}`),
    );
    assert.deepEqual(encryptedColumns.map(({ table, column }) => `${table}.${column}`).sort(), inSchema.sort());
  });

  test('an API key whose row cannot be decrypted is refused, and the others work', async (t) => {
    const { installation, gateway, rows } = await startTampered(t);
    const other = await installation.json<{ id: string; key: string }>('key', 'create');
    damage(rows, 'api_keys', 'sealed', { id: other.id });
    const refused = await notify({ api: gateway.api, key: other.key }, { title: 'refused' });
    assert.equal(refused.body.ok, false);
    assert.equal(refused.status, 401);
    assert.equal(refused.body.code, 'authentication_unavailable');
    assert.equal((await notify(gateway, { title: 'accepted' })).body.stored, true);
    const inbox = await installation.json<{ title: string }[]>('inbox', 'list');
    assert.deepEqual(
      inbox.map(({ title }) => title),
      ['accepted'],
    );
  });

  test('without the data key of an owner notifications are delivered but not stored, and other owners are not affected', async (t) => {
    const { installation, gateway, rows } = await startTampered(t);
    const owner = await installation.json('owner', 'create', '--name', 'Other');
    const other = await installation.json<{ key: string }>('key', 'create', '--owner', owner.id as string);
    await gateway.stop();
    damage(rows, 'data_keys', 'wrapped', { owner_id: owner.id as string });

    const { api } = await installation.serve();
    const { status, body } = await notify({ api, key: other.key }, { title: 'not stored' });
    assert.equal(status, 200);
    assert.equal(body.stored, false);
    assert.equal(body.storeReason, 'encryption_key_missing');
    assert.equal((await notify({ api, key: gateway.key }, { title: 'stored' })).body.stored, true);
  });

  test('a device name that cannot be decrypted keeps no notification from its owner', async (t) => {
    const { gateway, rows } = await startTampered(t);
    damage(rows, 'devices', 'sealed', { id: gateway.line.firstRun?.device.id as string });
    const { status, body } = await notify(gateway, { title: 'still delivered' });
    assert.equal(status, 200);
    assert.equal(body.stored, true);
  });

  test('the gateway starts although the row of one owner cannot be decrypted', async (t) => {
    const { installation, gateway, rows } = await startTampered(t);
    const owner = await installation.json('owner', 'create', '--name', 'Other');
    await gateway.stop();
    damage(rows, 'owners', 'sealed', { id: owner.id as string });
    const { api } = await installation.serve();
    assert.equal((await notify({ api, key: gateway.key }, { title: 'stored' })).body.stored, true);
  });
});

async function startTampered(t: TestContext) {
  const installation = await install(t);
  const gateway = await installation.serve();
  const rows = new RowTamperer(installation.dataDir);
  t.after(() => rows.close());
  return { installation, gateway, rows };
}

/** Flips a bit in the middle of the value. */
function damage(rows: RowTamperer, table: string, column: string, where: Record<string, string>): void {
  const value = rows.read(table, column, where);
  const middle = value.length >> 1;
  value[middle] = (value[middle] as number) ^ 1;
  rows.update(table, { [column]: value }, where);
}

/** Rows that are not created with an owner: a secret, a push target, a stored response, a waiting delivery. */
async function fillEveryTable(store: Store, { ownerId, notifications: [stored] }: OwnerWithRows): Promise<void> {
  const now = Date.now();
  await store.secrets.obtain('test', () => 'secret');
  const target = { id: 'psh_1', ownerId, provider: 'fcm', token: 'token', label: null } as const;
  await store.pushTargets.create({ ...target, createdAt: now, disabledAt: null });
  const idempotency = { keyDigest: 'digest', fingerprint: 'fingerprint', expiresAt: now + 60_000 };
  const dispatch = { qos: 1, isStrict: false, push: [], email: true, mqtt: [] } as const;
  const id = stored.id.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
  const original = { event: 'text', headers: {} };
  await store.notifications.save({ ...stored, id }, { dispatch, idempotency, original, leaseUntil: now + 60_000 });
  await createHook(store, environment, { ownerId, name: 'hook' });
  await store.idempotency.saveResponse(ownerId, 'digest', { status: 200, body: '{}' });
  const delivery: Delivery = {
    ...{ ownerId, notificationId: id, channel: 'email', target: '', state: 'waiting', attempts: 1, qos: 1 },
    ...{ createdAt: now, nextAt: now, notBefore: 0, expiresAt: now, endedAt: null, error: 'mailbox full' },
  };
  const results = { push: [], email: ['retry'], mqtt: [] } as const;
  await store.dispatches.settle([{ ownerId, notificationId: id, results, failed: [delivery] }]);
  await addCredentialRows(store, ownerId, id);
}

/** The primary keys of the rows of a table, in the order of their columns; for `meta` the secrets. */
function rowIds(dataDir: string, table: string): Record<string, unknown>[] {
  const key = encryptedColumns.find((column) => column.table === table)?.key ?? [];
  const db = new DatabaseSync(join(dataDir, 'tocsin.db'), { readOnly: true });
  try {
    const secrets = table === 'meta' ? "WHERE name = 'test'" : '';
    return db.prepare(`SELECT ${key.join(', ')} FROM ${table} ${secrets} LIMIT 1`).all();
  } finally {
    db.close();
  }
}

interface OwnerWithRows {
  ownerId: string;
  ids: Record<'owners' | 'devices' | 'api_keys', string>;
  keyDigest: string;
  /** Sorted by id. */
  notifications: [Notification, Notification, Notification];
}

interface TwoOwners {
  dataDir: string;
  store: Store;
  rows: RowTamperer;
  first: OwnerWithRows;
  second: OwnerWithRows;
}

async function withTwoOwners(use: (world: TwoOwners) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-sealed-'));
  try {
    await withStore(dataDir, async (store) => {
      const first = await createOwnerWithRows(store, 'first');
      const second = await createOwnerWithRows(store, 'second');
      const rows = new RowTamperer(dataDir);
      try {
        await use({ dataDir, store, rows, first, second });
      } finally {
        rows.close();
      }
    });
  } finally {
    await rm(dataDir, { recursive: true });
  }
}

async function createOwnerWithRows(store: Store, name: string): Promise<OwnerWithRows> {
  const { id: ownerId } = await createOwner(store, environment, {
    name,
    email: `${name}@example.com`,
    emailAlerts: true,
  });
  const { key } = await createKey(store, environment, { ownerId, type: 'public_client', label: `key of ${name}` });
  const { device } = await createDevice(store, environment, {
    ownerId,
    name: `device of ${name}`,
    topicPrefix: 'tocsin',
    urls: [],
  });
  const newId = createUuidV7Source(Date.now, randomUUID);
  const save = async (title: string): Promise<Notification> => {
    const content = sampleContent({ title: `${title} of ${name}` });
    const notification = { id: newId(), ownerId, createdAt: Date.now(), content };
    await store.notifications.save(notification);
    return notification;
  };
  return {
    ownerId,
    ids: { owners: ownerId, devices: device.id, api_keys: key.id },
    keyDigest: key.digest,
    notifications: [await save('one'), await save('two'), await save('three')],
  };
}

function readRow(store: Store, table: 'owners' | 'devices' | 'api_keys', of: OwnerWithRows): Promise<unknown> {
  if (table === 'owners') return store.owners.find(of.ids.owners);
  return table === 'devices' ? store.devices.list(of.ownerId) : store.keys.find(of.keyDigest);
}
