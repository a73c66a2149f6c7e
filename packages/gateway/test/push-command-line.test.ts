// The commands about push targets, against a real store.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { apnsToken, fcmToken } from '@tocsin/test-support/push-channel.ts';
import { WebPushStandIn } from '@tocsin/test-support/push-web-push-stand-in.ts';
import { createVapidKeys } from '../src/channels/push/vapid.ts';
import { type Output, UsageError } from '../src/cli/command.ts';
import { pushCommands } from '../src/cli/push.ts';
import { Problem } from '../src/core/problem.ts';
import { openStore } from '../src/store/open-store.ts';
import { createOwner, systemEnvironment } from '../src/usecases/registration.ts';

suite('The commands about push targets', () => {
  let dataDir: string;
  let ownerId: string;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
    const store = await openStore({ dataDir, masterKey: null }, 'create');
    ({ id: ownerId } = await createOwner(store, systemEnvironment, { name: 'Owner', email: null, emailAlerts: false }));
    await store.close();
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  async function run(verb: string, options: Record<string, string> = {}, positional = ''): Promise<Output> {
    const { TOCSIN_WEBPUSH_HOSTS, ...texts } = options;
    const args = { text: (name: string) => texts[name], texts: () => [], flag: () => false, positional };
    const environment = { TOCSIN_DATA_DIR: dataDir, ...(TOCSIN_WEBPUSH_HOSTS && { TOCSIN_WEBPUSH_HOSTS }) };
    return (await pushCommands.commands[verb]?.run(args, environment)) as Output;
  }

  test('add, list and remove a target of each kind, and never show its token', async () => {
    const subscription = new WebPushStandIn({ now: 0 }, '').subscribe();
    const tokens = { webpush: subscription, fcm: fcmToken('phone'), apns: apnsToken('b') };
    const file = join(dataDir, 'token');
    await writeFile(file, `${tokens.apns}\n`);
    const added = [
      await run('add', { provider: 'webpush', token: tokens.webpush, label: 'Laptop' }),
      await run('add', { provider: 'fcm', token: tokens.fcm, owner: ownerId }),
      await run('add', { provider: 'apns', 'token-file': file }),
    ];
    assert.deepEqual(
      added.map(({ warnings }) => warnings?.length),
      [0, 1, 1],
      'FCM and APNs are not configured',
    );
    const listed = await run('list');
    const targets = listed.json as { id: string; provider: string; label: string | null; fingerprint: string }[];
    assert.deepEqual(targets.map(({ provider }) => provider).sort(), ['apns', 'fcm', 'webpush']);
    assert.equal(new Set(targets.map(({ fingerprint }) => fingerprint)).size, 3);
    for (const { id } of targets) assert.match(id, /^psh_[0-9A-Za-z]{16}$/);
    assert.match(listed.text, /Laptop/);
    const shown = JSON.stringify([added, listed]);
    const { endpoint, keys } = JSON.parse(subscription) as { endpoint: string; keys: { auth: string } };
    for (const secret of [tokens.fcm, tokens.apns, endpoint, keys.auth]) assert.ok(!shown.includes(secret));

    const store = await openStore({ dataDir, masterKey: null }, 'existing');
    const stored = await store.pushTargets.list(ownerId);
    await store.close();
    assert.deepEqual(
      Object.fromEntries(stored.map(({ provider, token }) => [provider, token])),
      tokens,
      'the stored token is the given one',
    );
    for (const { id } of targets) assert.match((await run('remove', {}, id)).text, new RegExp(id));
    assert.deepEqual((await run('list')).json, []);
  });

  test('a token that its provider would not accept is refused without being shown', async () => {
    for (const [provider, token] of [
      ['webpush', '{"endpoint":"https://secret.test/"}'],
      ['webpush', new WebPushStandIn({ now: 0 }, '').subscribe('https://push.secret.test')],
      ['fcm', 'secret token'],
      ['apns', 'secret'],
    ] as const) {
      await assert.rejects(
        run('add', { provider, token }),
        (error) => error instanceof UsageError && !error.message.includes('secret'),
      );
    }
  });

  test('TOCSIN_WEBPUSH_HOSTS allows further push services', async () => {
    const token = new WebPushStandIn({ now: 0 }, '').subscribe('https://push.example.net');
    const { json } = await run('add', { provider: 'webpush', token, TOCSIN_WEBPUSH_HOSTS: 'push.example.net' });
    const { id, provider } = json as { id: string; provider: string };
    assert.equal(provider, 'webpush');
    await run('remove', {}, id);
  });

  test('wrong usage is explained', async () => {
    await assert.rejects(run('add', { provider: 'pigeon', token: 'x' }), /webpush, fcm, apns/);
    await assert.rejects(run('add', { provider: 'fcm' }), /--token or --token-file/);
    await assert.rejects(run('add', { provider: 'fcm', token: 'x', 'token-file': 'y' }), /--token or --token-file/);
    await assert.rejects(run('add', { provider: 'fcm', 'token-file': join(dataDir, 'missing') }), Problem);
    await assert.rejects(run('add', { provider: 'fcm', token: fcmToken('a'), label: 'x'.repeat(201) }), /--label/);
    await assert.rejects(run('remove', {}, 'psh_unknown'), /There is no push target psh_unknown/);
  });

  test('the same token is not added twice', async () => {
    const { json } = await run('add', { provider: 'fcm', token: fcmToken('twice') });
    await assert.rejects(run('add', { provider: 'fcm', token: fcmToken('twice') }), /already has the token/);
    await run('remove', {}, (json as { id: string }).id);
  });

  test('the public key for pages belongs to the stored pair, and is always the same', async () => {
    const { text } = await run('public-key');
    assert.equal(Buffer.from(text, 'base64url').length, 65);
    assert.equal((await run('public-key')).text, text);
    const store = await openStore({ dataDir, masterKey: null }, 'existing');
    const stored = JSON.parse(await store.secrets.obtain('webpush_vapid', createVapidKeys)) as { x: string };
    await store.close();
    assert.equal(Buffer.from(text, 'base64url').subarray(1, 33).toString('base64url'), stored.x);
  });
});
