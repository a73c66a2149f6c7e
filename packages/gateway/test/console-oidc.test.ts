// Signing in with an OpenID provider: a real one, on this machine.
import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import type { SessionEntry, SessionInfo } from '@tocsin/contract/console';
import { ConsoleClient } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { type LocalConsole, startLocalConsole } from '@tocsin/test-support/local-console.ts';
import { type OidcAccount, TestOidcProvider } from '@tocsin/test-support/oidc-provider.ts';
import { serveExpectingFailure } from '@tocsin/test-support/refusal-to-start.ts';
import type { ConsoleApiDeps } from '../src/console/deps.ts';
import { createOidcProvider } from '../src/console/sign-in/oidc-provider.ts';
import { createOwner, systemEnvironment } from '../src/usecases/registration.ts';

const accounts = {
  ann: { email: 'Ann@example.org', email_verified: true, name: 'Ann' },
  bob: { email: 'bob@example.org', email_verified: false, name: 'Bob' },
  carol: { email: 'carol@example.org', email_verified: true, name: 'Carol\u001b\nC.' },
  dora: { email: 'home@example.org', email_verified: true, name: 'Dora' },
};

/** Goes to the provider and back; returns where the console then redirects the browser. */
async function signIn(client: ConsoleClient, provider: TestOidcProvider, account: string): Promise<string | null> {
  const begun = await client.fetch('/api/sign-in/oidc');
  assert.equal(begun.status, 302);
  const back = new URL(await provider.walk(begun.headers.get('location') ?? '', account));
  assert.equal(back.origin, client.origin);
  return come(client, back);
}

async function come(client: ConsoleClient, { pathname, search }: URL): Promise<string | null> {
  const { status, headers } = await client.fetch(pathname + search);
  assert.equal(status, 302);
  return headers.get('location');
}

const whoIs = async (client: ConsoleClient): Promise<SessionInfo['owner']> =>
  (await client.get<SessionInfo>('/api/session')).body.owner;

suite('With an OpenID provider the service', () => {
  let provider: TestOidcProvider;
  let installation: Installation;
  let gateway: GatewayProcess;
  let ann: string;
  before(async () => {
    provider = await TestOidcProvider.start(accounts);
    installation = await Installation.create(provider.settings);
    gateway = await installation.serve();
    ann = (await installation.json('owner', 'create', '--name', 'Ann', '--email', 'ann@example.org')).id as string;
    await installation.json('owner', 'create', '--name', 'Bob', '--email', 'bob@example.org');
  });
  after(async () => {
    await installation.remove();
    await provider.stop();
  });

  test('starts while the provider is down, reports that to the user, and uses it after it recovers', async () => {
    const client = new ConsoleClient(gateway.line.console);
    assert.deepEqual((await client.get('/api/sign-in')).body.oidc, { name: 'Team sign-in' });
    const { status, headers } = await client.fetch('/api/sign-in/oidc');
    assert.deepEqual([status, headers.get('location')], [302, '/sign-in?problem=oidc_unavailable']);
    provider.open(client.origin);
    const begun = new URL((await client.fetch('/api/sign-in/oidc')).headers.get('location') ?? '');
    assert.equal(begun.origin, provider.issuer);
    for (const name of ['state', 'nonce', 'code_challenge']) assert.ok(begun.searchParams.get(name), name);
  });

  test('signs in the owner with the address that the provider has verified, and links the identity', async () => {
    const client = new ConsoleClient(gateway.line.console);
    assert.equal(await signIn(client, provider, 'ann'), '/');
    assert.equal((await whoIs(client)).id, ann);
    const [session] = (await client.get<{ sessions: SessionEntry[] }>('/api/sessions')).body.sessions;
    assert.equal(session?.method, 'oidc');
    await installation.json('owner', 'set', ann, '--email', 'elsewhere@example.org');
    const again = new ConsoleClient(gateway.line.console);
    assert.equal(await signIn(again, provider, 'ann'), '/');
    assert.equal((await whoIs(again)).id, ann);
  });

  test('links another identity with the address after the operator unlinked the first', async () => {
    await installation.json('owner', 'set', ann, '--email', accounts.carol.email);
    const client = new ConsoleClient(gateway.line.console);
    assert.equal(await signIn(client, provider, 'carol'), '/sign-in?problem=oidc_refused', 'Ann is still linked');
    assert.deepEqual(await installation.json('owner', 'unlink', ann), { id: ann, count: 1 });
    assert.equal(await signIn(client, provider, 'carol'), '/');
    assert.equal((await whoIs(client)).id, ann);
    assert.deepEqual(await installation.json('owner', 'unlink', ann), { id: ann, count: 1 });
    await installation.json('owner', 'set', ann, '--email', accounts.ann.email);
  });

  test('refuses unverified addresses and unknown people', async () => {
    for (const account of ['bob', 'carol']) {
      const client = new ConsoleClient(gateway.line.console);
      assert.equal(await signIn(client, provider, account), '/sign-in?problem=oidc_refused');
      assert.equal((await client.get('/api/session')).status, 401);
    }
  });

  test('accepts a callback once, and only from the browser that began', async () => {
    const client = new ConsoleClient(gateway.line.console);
    const refused = '/sign-in?problem=oidc_refused';
    const begun = await client.fetch('/api/sign-in/oidc');
    const cookies = new Map(client.cookies);
    const back = new URL(await provider.walk(begun.headers.get('location') ?? '', 'ann'));
    assert.equal(await come(new ConsoleClient(client.origin), back), refused, 'another browser');
    const otherState = new URL(back);
    otherState.searchParams.set('state', 'x');
    assert.equal(await come(client, otherState), refused, 'another state');
    assert.equal(await come(client, back), refused, 'the pending sign-in was used up');
    for (const [name, value] of cookies) client.cookies.set(name, value);
    assert.equal(await come(client, back), '/');
    for (const [name, value] of cookies) client.cookies.set(name, value);
    assert.equal(await come(client, back), refused, 'the code again');
    const denied = await client.fetch('/api/sign-in/oidc');
    const state = new URL(denied.headers.get('location') ?? '').searchParams.get('state');
    const no = new URL(
      `${client.origin}/api/sign-in/oidc/callback?error=access_denied&state=${state}&iss=${provider.issuer}`,
    );
    assert.equal(await come(client, no), refused, 'the provider refuses');
    // The repeated code and the provider that was down are logged; requests that any client can send are not.
    const causes = (): string[] =>
      [...gateway.log.matchAll(/"cause":"([^"]*)","msg":"signing in with the OpenID provider failed"/g)].map(
        ([, cause = '']) => cause,
      );
    await eventually('the log', 2000, causes, ({ length }) => length === 2);
    assert.match(causes()[0] ?? '', /503/);
    assert.match(causes()[1] ?? '', /invalid_grant/);
    assert.doesNotMatch(gateway.log, /internal error/);
    for (const secret of [provider.clientSecret, back.searchParams.get('code') ?? '', state ?? ''])
      assert.equal(gateway.log.includes(secret), false);
  });
});

/** Starts a console in this process, with a provider that is running. */
async function startTeam(t: TestContext, parts: Partial<ConsoleApiDeps> = {}, createsOwners = false) {
  const team: Record<string, OidcAccount> = { ...accounts };
  const provider = await TestOidcProvider.start(team);
  t.after(() => provider.stop());
  const local: LocalConsole = await startLocalConsole({
    parts: {
      oidc: createOidcProvider({
        issuer: new URL(provider.issuer),
        clientId: 'tocsin',
        clientSecret: provider.clientSecret,
        name: 'Team',
        scopes: 'openid email profile',
        createsOwners,
      }),
      ...parts,
    },
  });
  t.after(() => local.stop());
  provider.open(local.origin);
  return { accounts: team, provider, local, client: new ConsoleClient(local.origin) };
}

test('If owners are created automatically, each person of the provider becomes one owner', async (t) => {
  const { local, provider, client } = await startTeam(t, {}, true);
  assert.equal(await signIn(client, provider, 'carol'), '/');
  const carol = await whoIs(client);
  assert.deepEqual([carol.name, carol.email, carol.role], ['Carol C.', 'carol@example.org', 'owner']);
  assert.equal(await signIn(client, provider, 'carol'), '/');
  assert.equal((await whoIs(client)).id, carol.id);
  // The address is not verified, so it must not become that of an owner.
  await createOwner(local.store, systemEnvironment, { name: 'Bob', email: 'bob@example.org', emailAlerts: false });
  assert.equal(await signIn(client, provider, 'bob'), '/');
  assert.equal((await whoIs(client)).email, null);
  // Two owners have the address, so it identifies neither of them.
  for (const name of ['Dora', 'Emil'])
    await createOwner(local.store, systemEnvironment, { name, email: 'home@example.org', emailAlerts: false });
  const before = (await local.store.owners.list()).map(({ id }) => id);
  assert.equal(before.length, 6);
  assert.equal(await signIn(client, provider, 'dora'), '/');
  assert.equal(before.includes((await whoIs(client)).id), false);
});

test('A person who gets a reassigned address at the provider does not get the inbox of its former holder', async (t) => {
  const { accounts: team, client, local, provider } = await startTeam(t);
  assert.equal(await signIn(client, provider, 'ann'), '/');
  assert.equal((await whoIs(client)).id, local.owner.id);
  team.newcomer = accounts.ann;
  const newcomer = new ConsoleClient(local.origin);
  assert.equal(await signIn(newcomer, provider, 'newcomer'), '/sign-in?problem=oidc_refused');
  assert.equal((await newcomer.get('/api/session')).status, 401);
});

test('With a provider and without an SMTP server owners cannot claim an unconfirmed address', async (t) => {
  const { local } = await startTeam(t, { mailer: null });
  const owner = await local.signIn();
  const { status, body } = await owner.post('/api/preferences/email', { email: 'carol@example.org' });
  assert.deepEqual([status, body.code], [409, 'conflict']);
  assert.match(String(body.error), /tocsin owner set ID --email/);
  assert.equal((await whoIs(owner)).email, 'ann@example.org');
  assert.equal((await owner.post('/api/preferences/email', { email: null })).status, 200, 'it can be removed');
});

test('All invalid settings of a provider are reported together', async (t) => {
  const installation = await install(t);
  const { exitCode, stderr } = await serveExpectingFailure(installation, {
    TOCSIN_OIDC_ISSUER: 'http://login.example.com',
    TOCSIN_OIDC_CLIENT_ID: 'tocsin',
    TOCSIN_OIDC_SCOPES: 'email',
    TOCSIN_CONSOLE_URL: 'https://inbox.example.com/path',
    TOCSIN_API_URL: 'notify.example.com',
    TOCSIN_MQTT_PUBLIC_URL: 'mqtt://user:secret@broker.example.com',
  });
  assert.equal(exitCode, 1);
  for (const name of ['ISSUER', 'SCOPES']) assert.match(stderr, new RegExp(`TOCSIN_OIDC_${name} must be`));
  for (const name of ['CONSOLE_URL', 'API_URL', 'MQTT_PUBLIC_URL']) {
    assert.match(stderr, new RegExp(`TOCSIN_${name} must be`));
  }
  assert.doesNotMatch(stderr, /secret@|ISSUER is needed/);
});
