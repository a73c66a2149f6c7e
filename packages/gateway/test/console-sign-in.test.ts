// Signing in to the console, and everything that keeps others out of it.
import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import type { SessionEntry, SessionInfo, SignInOptions } from '@tocsin/contract/console';
import { clusterObstacle, startCluster } from '@tocsin/test-support/cluster.ts';
import { ConsoleClient, linkFor, signInAs, signInAtFirstRun, tokenIn } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { type LocalConsole, type LocalConsoleOptions, startLocalConsole } from '@tocsin/test-support/local-console.ts';
import { rawRequest } from '@tocsin/test-support/raw-request.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { parseMessage } from '@tocsin/test-support/smtp-message.ts';
import { startMailServer, type TestMailServer } from '@tocsin/test-support/smtp-server.ts';
import { SoftwareAuthenticator } from '@tocsin/test-support/software-authenticator.ts';
import { EmailNotSent } from '../src/console/deps.ts';
import { EncryptionKeyMissing, type Store, StoreUnavailable } from '../src/usecases/ports/index.ts';
import { createOwner, systemEnvironment } from '../src/usecases/registration.ts';

const dayMs = 86_400_000;

suite('The running service', () => {
  let mailServer: TestMailServer;
  let installation: Installation;
  let gateway: GatewayProcess;
  before(async () => {
    mailServer = await startMailServer();
    installation = await Installation.create({
      // A request under another name is to be answered, so that a test can look at what it changes.
      TOCSIN_CONSOLE_HOSTS: '*',
      TOCSIN_SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`,
      TOCSIN_EMAIL_FROM: 'Tocsin <tocsin@example.com>',
      TOCSIN_TRUSTED_PROXIES: '127.0.0.1',
    });
    gateway = await installation.serve();
  });
  after(async () => {
    await installation.remove();
    await mailServer.kill();
  });

  test('prints a link at its first run that opens the inbox once, for the operator', async () => {
    const { firstRun, console: listening } = gateway.line;
    const link = new URL(firstRun?.signIn ?? '');
    assert.equal(link.origin, new URL(listening).origin.replace('127.0.0.1', 'localhost'), 'a name, for passkeys');
    const client = await signInAtFirstRun(gateway);
    const { body } = await client.get<SessionInfo>('/api/session');
    assert.equal(body.owner.id, firstRun?.owner);
    assert.equal(body.owner.role, 'operator');
    assert.equal(body.service.apiUrl, gateway.api);
    assert.equal(body.service.consoleUrl, client.origin);
    const again = await new ConsoleClient(listening).post('/api/sign-in/link', { token: tokenIn(link.href) });
    assert.deepEqual([again.status, again.body.code], [401, 'link_not_valid']);
  });

  test('lets any owner in with a link from the command line, in the role that the command line gave', async () => {
    const here = { TOCSIN_CONSOLE_URL: new URL(gateway.line.console).origin };
    const only = await installation.run(['owner', 'sign-in'], here);
    assert.match(only.stdout, /\/sign-in#[\w-]{43}\n/, 'there is one owner, who must be meant');
    const bob = await installation.json('owner', 'create', '--name', 'Bob', '--role', 'operator');
    const several = await installation.run(['owner', 'sign-in'], here);
    assert.match(several.stderr, /several owners\. Choose one:\n( {2}own_\S+ {2}First owner\n)? {2}own_\S+ {2}Bob/);
    assert.equal(bob.role, 'operator');
    const client = await signInAs(installation, gateway, bob.id as string);
    assert.equal((await client.get<SessionInfo>('/api/session')).body.owner.role, 'operator');
    await installation.json('owner', 'set', bob.id as string, '--role', 'owner');
    assert.equal((await client.get<SessionInfo>('/api/session')).body.owner.role, 'owner');

    const nobody = await installation.run(['owner', 'sign-in', 'own_nobody'], here);
    assert.match(nobody.stderr, /There is no owner own_nobody/);
    const nowhere = await installation.run(['owner', 'sign-in', bob.id as string]);
    assert.match(nowhere.stderr, /Set TOCSIN_CONSOLE_URL/);
  });

  test('mails a link that signs in, and answers no differently for an address that nobody has', async () => {
    const carol = await installation.json('owner', 'create', '--name', 'Carol', '--email', 'Carol@example.org');
    const client = new ConsoleClient(gateway.line.console);
    assert.equal((await client.get<SignInOptions>('/api/sign-in')).body.mail, true);
    // What the request says of its host must not get into a mail.
    const ask = (email: string) => {
      const body = JSON.stringify({ email });
      const head = ['POST /api/sign-in/mail HTTP/1.1', 'Host: evil.example', 'Origin: http://evil.example'];
      const rest = ['Content-Type: application/json', `Content-Length: ${body.length}`, 'Connection: close', '', body];
      return rawRequest(gateway.line.console, [...head, ...rest].join('\r\n'));
    };
    const [unknown, known] = [await ask('nobody@example.org'), await ask('carol@EXAMPLE.org')];
    assert.deepEqual([unknown.status, unknown.body], [known.status, known.body]);
    assert.equal(known.status, 202);

    const [mail] = await eventually(
      'a mail',
      5000,
      () => mailServer.mails,
      ({ length }) => length > 0,
    );
    assert.deepEqual(mail?.recipients, ['Carol@example.org']);
    const { text, html } = parseMessage(mail?.raw ?? '');
    const [url = ''] = /http:\S+/.exec(text) ?? [];
    assert.equal(new URL(url).origin, client.origin.replace('127.0.0.1', 'localhost'));
    assert.ok(html.includes(`href="${url}"`));
    await client.useLink(url);
    const { body } = await client.get<SessionInfo>('/api/session');
    assert.equal(body.owner.id, carol.id);
    const [session] = (await client.get<{ sessions: SessionEntry[] }>('/api/sessions')).body.sessions;
    assert.equal(session?.method, 'mail');
    assert.equal(mailServer.mails.length, 1, 'nothing for the address that nobody has');
  });

  test('sets its cookies for pages alone, and behind a trusted proxy that speaks TLS for this host alone', async () => {
    const { owner = '' } = gateway.line.firstRun ?? {};
    const plain = new ConsoleClient(gateway.line.console);
    const cookieOf = async (headers: Record<string, string>): Promise<string> => {
      const token = tokenIn(await linkFor(installation, plain.origin, owner));
      const answer = await plain.post('/api/sign-in/link', { token }, headers);
      return answer.headers
        .getSetCookie()
        .join('\n')
        .replaceAll(/=[\w-]{43,};/g, '=…;');
    };
    const cookies = (prefix: string, attributes: string): string =>
      [
        `${prefix}tocsin=…; Max-Age=2592000; Path=/; HttpOnly; ${attributes}`,
        `${prefix}tocsin-browser=…; Max-Age=34560000; Path=/; HttpOnly; ${attributes}`,
      ].join('\n');
    assert.equal(await cookieOf({}), cookies('', 'SameSite=Lax'));
    const origin = plain.origin.replace('http:', 'https:');
    const proxied = { origin, 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.9' };
    assert.equal(await cookieOf(proxied), cookies('__Host-', 'Secure; SameSite=Lax'));
    // Over TLS the name without the prefix, which a neighbour could set, counts for nothing.
    assert.equal((await plain.get('/api/session')).status, 200);
    plain.cookies.delete('__Host-tocsin');
    assert.equal((await plain.get('/api/session', proxied)).status, 401);
  });

  test('has written none of the tokens into its log', async () => {
    const token = tokenIn(gateway.line.firstRun?.signIn ?? '');
    assert.ok(token.length > 40);
    assert.equal(gateway.log.includes(token), false);
    assert.doesNotMatch(gateway.log, /sign-in#|internal error/);
  });
});

suite('The console', () => {
  let local: LocalConsole;
  before(async () => {
    local = await startLocalConsole();
  });
  after(() => local.stop());

  const newOwner = (name: string) =>
    createOwner(local.store, systemEnvironment, { name, email: null, emailAlerts: false });

  /** One of its own, for a test that needs it otherwise. */
  const start = async (t: TestContext, options: LocalConsoleOptions): Promise<LocalConsole> => {
    const another = await startLocalConsole(options);
    t.after(() => another.stop());
    return another;
  };

  test('shows whom a link is for without using it up, and refuses it when it is used or too old', async () => {
    const client = new ConsoleClient(local.origin);
    const token = tokenIn(await local.link());
    const preview = await client.post('/api/sign-in/link/look', { token });
    assert.deepEqual(preview.body, { purpose: 'sign_in', ownerName: 'Ann', email: null });
    assert.equal((await client.post('/api/sign-in/link', { token })).status, 200);
    const late = tokenIn(await local.link({ lifetimeMs: 1000 }));
    local.clock.now += 1001;
    for (const bad of [token, late, 'x'.repeat(43), '☃']) {
      for (const path of ['/api/sign-in/link', '/api/sign-in/link/look']) {
        const { status, body } = await client.post(path, { token: bad });
        assert.deepEqual([status, body.code], [401, 'link_not_valid']);
      }
    }
    assert.equal((await client.post('/api/sign-in/link', { token: 'x'.repeat(101) })).status, 400);
  });

  test('begins one session when twenty browsers use one link at once', async () => {
    const { id: ownerId } = await newOwner('Dave');
    const token = tokenIn(await local.link({ ownerId }));
    const clients = Array.from({ length: 20 }, () => new ConsoleClient(local.origin));
    const answers = await Promise.all(clients.map((client) => client.post('/api/sign-in/link', { token })));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ status }) => status === 401).length, 19);
    assert.equal((await local.store.sessions.list(ownerId, local.clock.now)).length, 1);
  });

  test('keeps only digests of links and cookies', async () => {
    const { id: ownerId } = await newOwner('Erin');
    const client = await local.signIn(ownerId);
    const [session] = await local.store.sessions.list(ownerId, local.clock.now);
    const cookie = client.cookies.get('tocsin') ?? '';
    assert.match(cookie, /^[\w-]{43}$/);
    assert.equal(JSON.stringify(session).includes(cookie), false);
  });

  test('answers nobody without a session, on any route but those of signing in and the public document', async () => {
    const client = new ConsoleClient(local.origin);
    const routes = local.routes.filter(({ method, url }) => url.startsWith('/api/') && method !== 'HEAD');
    assert.ok(routes.length > 15);
    for (const { method, url, isPublic } of routes) {
      assert.equal(isPublic, /^\/api\/(sign-in(\/.*)?|openapi\.json)$/.test(url), `${method} ${url}`);
      if (isPublic) continue;
      const { status, body } = await client.ask(method, url.replaceAll(/:\w+/g, 'some-id'));
      assert.deepEqual([status, body.code], [401, 'signed_out'], `${method} ${url}`);
    }
    client.cookies.set('tocsin', 'A'.repeat(43));
    assert.equal((await client.get('/api/session')).status, 401);
    assert.deepEqual(local.failures, []);
  });

  test('refuses requests that change something and come from elsewhere, before it looks at the cookie', async () => {
    const client = await local.signIn();
    const { host } = new URL(local.origin);
    const post = async (headers: Record<string, string>, path = '/api/phone-link'): Promise<number> => {
      const cookie = client.headers.cookie ?? '';
      return (await fetch(local.origin + path, { method: 'POST', headers: { cookie, ...headers } })).status;
    };
    assert.equal(await post({ origin: local.origin }), 200);
    assert.equal(await post({ 'sec-fetch-site': 'same-origin' }), 200, 'no Origin, but the browser vouches for it');
    const elsewhere = ['https://evil.example', `http://evil.${host}`, `http://${host}.evil.example`, 'null', ''];
    for (const origin of elsewhere) assert.equal(await post({ origin, 'sec-fetch-site': 'same-origin' }), 403, origin);
    assert.equal(await post({}), 403, 'neither');
    assert.equal(await post({ 'sec-fetch-site': 'same-site' }), 403);
    for (const { method, url } of local.routes) {
      if (!url.startsWith('/api/') || method === 'GET' || method === 'HEAD') continue;
      const { status, body } = await client.ask(method, url, undefined, { origin: 'https://evil.example' });
      assert.deepEqual([status, body.code], [403, 'cross_site'], `${method} ${url}`);
    }
  });

  test('takes its own address from the operator where there is one', async (t) => {
    const { origin, link } = await start(t, { consoleUrl: 'https://inbox.example.com' });
    const client = new ConsoleClient(origin);
    const headers = { origin: 'https://inbox.example.com' };
    await client.post('/api/sign-in/link', { token: tokenIn(await link()) }, headers);
    assert.ok(client.cookies.has('__Host-tocsin'));
    const { body } = await client.get<SessionInfo>('/api/session');
    assert.equal(body.service.consoleUrl, 'https://inbox.example.com');
    assert.equal(body.service.apiUrl, 'http://inbox.example.com:8080/');
    const page = ['Host: inbox.example.com', 'Origin: http://inbox.example.com', `Cookie: ${client.headers.cookie}`];
    const inTheClear = ['POST /api/phone-link HTTP/1.1', ...page, 'Connection: close', '', ''].join('\r\n');
    assert.equal((await rawRequest(origin, inTheClear)).status, 403, 'that page could be of anybody on the way');
    const phone = await client.post('/api/phone-link', undefined, headers);
    assert.match(String(phone.body.url), /^https:\/\/inbox\.example\.com\/sign-in#[\w-]{43}$/);
  });

  test('ends a session the moment it is revoked, signed out, or its owner is gone', async () => {
    const { id } = await newOwner('Frank');
    const [here, there, third] = [await local.signIn(id), await local.signIn(id), await local.signIn(id)];
    const { sessions } = (await here.get<{ sessions: SessionEntry[] }>('/api/sessions')).body;
    assert.equal(sessions.length, 3);
    const { sessionId } = (await there.get<SessionInfo>('/api/session')).body;
    assert.equal((await here.delete(`/api/sessions/${sessionId}`)).status, 204);
    assert.equal((await there.get('/api/session')).status, 401);
    assert.equal((await here.delete(`/api/sessions/${sessionId}`)).status, 404);
    const { url } = (await third.post<{ url: string }>('/api/phone-link')).body;
    assert.deepEqual((await here.post('/api/sessions/sign-out-others')).body, { count: 1 });
    assert.equal((await third.get('/api/session')).status, 401);
    const back = await third.post('/api/sign-in/link', { token: tokenIn(url) });
    assert.equal(back.body.code, 'link_not_valid', 'nor does a link that was made there lead back in');

    const cookie = new Map(here.cookies);
    assert.equal((await here.post('/api/sign-out')).status, 204);
    assert.deepEqual([...here.cookies.keys()], ['tocsin-browser'], 'which says who used it, and lets nobody in');
    for (const [name, value] of cookie) here.cookies.set(name, value);
    assert.equal((await here.get('/api/session')).status, 401, 'the old cookie is worth nothing');

    const last = await local.signIn(id);
    await local.store.owners.delete(id);
    assert.equal((await last.get('/api/session')).status, 401);
  });

  test("does not let one owner see or end another's sessions", async () => {
    const ann = await local.signIn();
    const other = await local.signIn((await newOwner('Grace')).id);
    const { sessionId } = (await ann.get<SessionInfo>('/api/session')).body;
    assert.equal((await other.delete(`/api/sessions/${sessionId}`)).status, 404);
    assert.equal((await other.get<{ sessions: SessionEntry[] }>('/api/sessions')).body.sessions.length, 1);
    assert.equal((await ann.get('/api/session')).status, 200);
  });

  test('ends a session ninety days after it began, however often it is used', async () => {
    const client = await local.signIn();
    const day = 86_400_000;
    const begunAt = local.clock.now;
    try {
      for (let days = 5; days < 90; days += 5) {
        local.clock.now = begunAt + days * day;
        assert.equal((await client.get('/api/session')).status, 200, `after ${days} days`);
      }
      local.clock.now = begunAt + 90 * day - 1;
      assert.equal((await client.get('/api/session')).status, 200);
      local.clock.now = begunAt + 90 * day;
      assert.equal((await client.get('/api/session')).status, 401);
    } finally {
      local.clock.now = begunAt;
    }
  });

  test('keeps whoever comes back within thirty days signed in, and nobody longer', async () => {
    const client = await local.signIn();
    local.clock.now += 29 * dayMs;
    const { headers } = await client.get('/api/session');
    assert.match(headers.getSetCookie().join(), /^tocsin=.*Max-Age=2592000/, 'the browser keeps it longer, too');
    assert.deepEqual((await client.get('/api/session')).headers.getSetCookie(), [], 'not with every request');
    local.clock.now += 29 * dayMs;
    assert.equal((await client.get('/api/session')).status, 200);
    local.clock.now += 31 * dayMs;
    assert.equal((await client.get('/api/session')).status, 401);
  });

  test('mails no address more than three links in a quarter of an hour, nor anything for those who ask too often', async () => {
    const client = new ConsoleClient(local.origin);
    const ask = async (): Promise<number> =>
      (await client.post('/api/sign-in/mail', { email: 'ann@example.org' })).status;
    for (let count = 0; count < 10; count += 1) assert.equal(await ask(), 202);
    assert.equal(await ask(), 429);
    await eventually(
      'three mails',
      2000,
      () => local.mails.length,
      (count) => count === 3,
    );
    const [first] = local.mails;
    await client.useLink(first?.url ?? '');
  });

  test('makes an address the owner’s when the owner opens the mailed link, which lets nobody else in', async () => {
    const stranger = new ConsoleClient(local.origin);
    const token = tokenIn(await local.link({ confirms: 'new@example.org' }));
    const preview = await stranger.post('/api/sign-in/link/look', { token });
    assert.deepEqual(preview.body, { purpose: 'confirm_email', ownerName: 'Ann', email: 'new@example.org' });
    const { status, body } = await stranger.post('/api/sign-in/link', { token });
    assert.deepEqual([status, body.code], [401, 'signed_out']);
    assert.match(String(body.error), /Sign in first/);
    assert.equal(stranger.cookies.size, 0);
    const other = await local.signIn((await newOwner('Heidi')).id);
    assert.equal((await other.post('/api/sign-in/link', { token })).status, 409);
    assert.equal((await local.store.owners.find(local.owner.id))?.email, 'ann@example.org');

    const ann = await local.signIn();
    const before = new Map(ann.cookies);
    assert.equal((await ann.post('/api/sign-in/link', { token })).status, 200);
    assert.equal((await ann.get<SessionInfo>('/api/session')).body.owner.email, 'new@example.org');
    assert.deepEqual(ann.cookies, before, 'the session is the one she had');
    assert.equal((await ann.post('/api/sign-in/link', { token })).body.code, 'link_not_valid');
  });

  test('tells the operator of a link that could not be mailed, and of nobody’s address', async (t) => {
    const sendSignInLink = () => Promise.reject(new EmailNotSent('The mail server refused the recipient (550)'));
    const { origin, warnings, failures } = await start(t, {
      parts: {
        mailer: { sendSignInLink, sendEmailConfirmation: sendSignInLink, sendSecurityNotice: async () => undefined },
      },
    });
    await new ConsoleClient(origin).post('/api/sign-in/mail', { email: 'ann@example.org' });
    await eventually(
      'a warning',
      2000,
      () => warnings,
      ({ length }) => length > 0,
    );
    assert.deepEqual(warnings, ['The mail server refused the recipient (550)']);
    assert.deepEqual(failures, []);
  });

  test('says what is wrong with a request, and never that it is our fault', async () => {
    const client = new ConsoleClient(local.origin);
    const path = '/api/sign-in/link';
    const raw = async (body: string, type = 'application/json') => {
      const response = await client.fetch(path, { method: 'POST', body, headers: { 'content-type': type } });
      const { code, details } = (await response.json()) as { code: string; details?: unknown };
      return { status: response.status, code, ...(details !== undefined && { details }) };
    };
    const missing = [{ field: 'token', problem: "must have required property 'token'" }];
    assert.deepEqual(await raw('{}'), { status: 400, code: 'invalid_body', details: missing });
    assert.deepEqual(await raw('{"token"'), { status: 400, code: 'invalid_body' });
    assert.deepEqual(await raw('{"token":"x"}', 'text/plain'), { status: 400, code: 'invalid_body' });
    assert.deepEqual(await raw('{"__proto__":{},"token":"x"}'), { status: 400, code: 'invalid_body' });
    assert.deepEqual(await raw(JSON.stringify({ token: 'x'.repeat(70_000) })), {
      status: 413,
      code: 'body_too_large',
    });
    const nowhere = await client.get('/api/nowhere');
    assert.deepEqual([nowhere.status, nowhere.body.code], [404, 'not_found']);
    const ann = await local.signIn();
    for (const id of ['%00', '%ED%A0%80', '%zz', 'a%2Fb', 'a'.repeat(65), 'a'.repeat(5000)]) {
      const { status, body } = await ann.delete(`/api/passkeys/${id}`);
      assert.deepEqual([status, body.code], [404, 'not_found'], id.slice(0, 20));
      assert.equal(body.error, 'There is nothing at this address.');
    }
    for (const [name, value] of [
      ['cache-control', 'no-store'],
      ['x-content-type-options', 'nosniff'],
      ['referrer-policy', 'no-referrer'],
    ] as const) {
      assert.equal(nowhere.headers.get(name), value);
    }
    assert.deepEqual(local.failures, []);
  });

  test('lets people read while the store takes no writes', async (t) => {
    const wrapStore = (store: Store): Store => ({
      ...store,
      sessions: { ...store.sessions, touch: () => Promise.reject(new StoreUnavailable('the disk is full')) },
    });
    const { signIn, clock } = await start(t, { wrapStore });
    const client = await signIn();
    clock.now += dayMs;
    assert.equal((await client.get('/api/session')).status, 200);
  });

  test('tells a store that is away from a fault of its own, of which it tells nothing', async (t) => {
    let failure: Error | null = null;
    const wrapStore = (store: Store): Store => ({
      ...store,
      sessions: {
        ...store.sessions,
        find: async (...args) => {
          if (failure !== null) throw failure;
          return store.sessions.find(...args);
        },
      },
    });
    const { signIn, failures } = await start(t, { wrapStore });
    const client = await signIn();
    for (failure of [new StoreUnavailable('locked'), new EncryptionKeyMissing('an old master key')]) {
      const away = await client.get('/api/session');
      assert.deepEqual([away.status, away.body.code], [503, 'unavailable'], 'which signs nobody out');
    }
    failure = new Error('canary');
    const fault = await client.get('/api/session');
    assert.deepEqual([fault.status, fault.body.code], [500, 'internal']);
    assert.doesNotMatch(JSON.stringify(fault.body), /canary/);
    assert.deepEqual(failures, [failure]);
  });
});

test('On PostgreSQL what began on one node goes on on the other: a session, its end, and the making of a passkey', async (t) => {
  if (!canRun(t, clusterObstacle())) return;
  const site = 'http://localhost:8081';
  const { nodes, installation, ownerId } = await startCluster(t, 2, { TOCSIN_CONSOLE_URL: site });
  const [a, b] = nodes as [GatewayProcess, GatewayProcess];
  const onA = await signInAtFirstRun(a);
  const onB = new ConsoleClient(b.line.console);
  for (const [name, value] of onA.cookies) onB.cookies.set(name, value);
  const { body } = await onB.get<SessionInfo>('/api/session');
  assert.equal(body.owner.id, ownerId);

  const token = tokenIn(await linkFor(installation, onB.origin, ownerId));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, count) =>
      new ConsoleClient((count % 2 ? a : b).line.console).post('/api/sign-in/link', { token }),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);

  // What PostgreSQL takes for no text at all.
  assert.equal((await onA.delete('/api/passkeys/a%00')).status, 404);

  const authenticator = new SoftwareAuthenticator(site);
  const wanted = await onA.post<Parameters<typeof authenticator.create>[0]>('/api/passkeys/options');
  for (const [name, value] of onA.cookies) onB.cookies.set(name, value);
  const made = await onB.post('/api/passkeys', { name: 'Laptop', credential: authenticator.create(wanted.body) });
  assert.equal(made.status, 201, 'one node asks, the other takes the answer');

  assert.equal((await onB.post('/api/sign-out')).status, 204);
  assert.equal((await onA.get('/api/session')).status, 401);
});
