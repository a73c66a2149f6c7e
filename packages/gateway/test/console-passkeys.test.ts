// Passkeys, from an authenticator in this process. The tests of the inbox app use that of a browser.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { PasskeyEntry, SessionInfo } from '@tocsin/contract/console';
import { ConsoleClient } from '@tocsin/test-support/console-client.ts';
import { type LocalConsole, startLocalConsole } from '@tocsin/test-support/local-console.ts';
import { SoftwareAuthenticator } from '@tocsin/test-support/software-authenticator.ts';
import { createOwner, systemEnvironment } from '../src/usecases/registration.ts';

suite('A passkey', () => {
  let local: LocalConsole;
  before(async () => {
    local = await startLocalConsole();
  });
  after(() => local.stop());

  type CreationOptions = Parameters<SoftwareAuthenticator['create']>[0];
  type RequestOptions = Parameters<SoftwareAuthenticator['get']>[0];

  /** A new owner with a passkey. */
  async function register(name: string) {
    const owner = await createOwner(local.store, systemEnvironment, { name, email: null, emailAlerts: false });
    const client = await local.signIn(owner.id);
    const authenticator = new SoftwareAuthenticator(local.origin);
    const { body: options } = await client.post<CreationOptions>('/api/passkeys/options');
    const credential = authenticator.create(options);
    const answer = await client.post<PasskeyEntry>('/api/passkeys', { name: ' Laptop ', credential });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return { owner, client, authenticator, entry: answer.body, credential };
  }

  async function options(client: ConsoleClient): Promise<RequestOptions> {
    return (await client.post<RequestOptions>('/api/sign-in/passkey/options')).body;
  }

  async function refusal(client: ConsoleClient, credential: unknown): Promise<void> {
    const { status, body } = await client.post('/api/sign-in/passkey', { credential });
    assert.deepEqual([status, body.code], [401, 'passkey_refused']);
  }

  test('signs in its owner and is listed with its last use', async () => {
    const { owner, client, authenticator, entry } = await register('Ann');
    assert.equal(entry.name, 'Laptop');
    assert.equal(entry.usedAt, null);
    const fresh = new ConsoleClient(local.origin);
    const credential = authenticator.get(await options(fresh));
    assert.equal((await fresh.post('/api/sign-in/passkey', { credential })).status, 200);
    assert.equal((await fresh.get<SessionInfo>('/api/session')).body.owner.id, owner.id);
    const { passkeys } = (await client.get<{ passkeys: PasskeyEntry[] }>('/api/passkeys')).body;
    assert.deepEqual(passkeys, [{ ...entry, usedAt: local.clock.now }]);
  });

  test('signs a new challenge each time: a replayed signature, challenge or one of another owner is refused', async () => {
    const { authenticator } = await register('Bob');
    const fresh = new ConsoleClient(local.origin);
    const first = authenticator.get(await options(fresh));
    const cookies = new Map(fresh.cookies);
    assert.equal((await fresh.post('/api/sign-in/passkey', { credential: first })).status, 200);
    const thief = new ConsoleClient(local.origin);
    await refusal(thief, first);
    for (const [name, value] of cookies) thief.cookies.set(name, value);
    await refusal(thief, first);
    const late = new ConsoleClient(local.origin);
    const answer = authenticator.get(await options(late));
    local.clock.now += 5 * 60_000 + 1;
    await refusal(late, answer);
    const { challenge } = await options(late);
    await refusal(late, authenticator.get({ challenge, rpId: 'evil.example' }));
    const stranger = new SoftwareAuthenticator('http://evil.example');
    stranger.create({ challenge, rp: { id: 'localhost' }, user: { id: 'x' } });
    await refusal(late, stranger.get(await options(late)));
  });

  test('is refused if its counter does not increase, because it was cloned', async () => {
    const { authenticator } = await register('Carol');
    const fresh = new ConsoleClient(local.origin);
    authenticator.counter = 7;
    const credential = authenticator.get(await options(fresh));
    assert.equal((await fresh.post('/api/sign-in/passkey', { credential })).status, 200);
    await refusal(fresh, authenticator.get(await options(fresh)));
    authenticator.counter = 6;
    await refusal(fresh, authenticator.get(await options(fresh)));
    authenticator.counter = 8;
    const next = authenticator.get(await options(fresh));
    assert.equal((await fresh.post('/api/sign-in/passkey', { credential: next })).status, 200);
  });

  test('can be deleted by its owner only, and is refused afterwards', async () => {
    const { client, authenticator, entry } = await register('Dave');
    const { client: other, credential } = await register('Erin');
    assert.equal((await other.delete(`/api/passkeys/${entry.id}`)).status, 404);
    const again = await client.post('/api/passkeys', { name: 'Again', credential });
    assert.deepEqual([again.status, again.body.code], [401, 'passkey_refused'], 'not the requested one');
    assert.equal((await client.delete(`/api/passkeys/${entry.id}`)).status, 204);
    const fresh = new ConsoleClient(local.origin);
    await refusal(fresh, authenticator.get(await options(fresh)));
  });

  test('is neither offered nor accepted if the console has no host name', async () => {
    const byAddress = new ConsoleClient(local.origin.replace('localhost', '127.0.0.1'));
    assert.equal((await byAddress.get('/api/sign-in')).body.passkeys, false);
    assert.equal((await byAddress.post('/api/sign-in/passkey/options')).status, 401);
    assert.equal((await new ConsoleClient(local.origin).get('/api/sign-in')).body.passkeys, true);
  });

  test('with invalid content is refused without an internal error', async () => {
    const client = new ConsoleClient(local.origin);
    const { authenticator } = await register('Frank');
    const good = authenticator.get(await options(client));
    for (const response of [
      {},
      { clientDataJSON: 1 },
      { ...good.response, signature: 'AA' },
      { clientDataJSON: 'e30' },
    ])
      await refusal(client, { ...authenticator.get(await options(client)), response });
    assert.equal((await client.post('/api/sign-in/passkey', { credential: null })).status, 400);
    assert.deepEqual(local.failures, []);
  });
});
