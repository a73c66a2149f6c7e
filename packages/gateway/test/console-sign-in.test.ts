// Signing in to the console, and the protection against unauthorized access.
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
import { startSmtpServer, type TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { SoftwareAuthenticator } from '@tocsin/test-support/software-authenticator.ts';
import { EmailNotSent } from '../src/console/deps.ts';
import { EncryptionKeyMissing, type Store, StoreUnavailable } from '../src/usecases/ports/index.ts';
import { createOwner, systemEnvironment } from '../src/usecases/registration.ts';

const dayMs = 86_400_000;

suite('The running service', () => {
  let smtp: TestSmtpServer;
  let installation: Installation;
  let gateway: GatewayProcess;
  before(async () => {
    smtp = await startSmtpServer();
    installation = await Installation.create({
      // A request under another host name must get a response, so that a test can check its effect.
      TOCSIN_CONSOLE_HOSTS: '*',
      TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      TOCSIN_EMAIL_FROM: 'Tocsin <tocsin@example.com>',
      TOCSIN_TRUSTED_PROXIES: '127.0.0.1',
    });
    gateway = await installation.serve();
  });
  after(async () => {
    await installation.remove();
    await smtp.kill();
  });

  test('prints a one-time sign-in link for the operator at its first run', async () => {
    const { firstRun, console: listening } = gateway.line;
    const link = new URL(firstRun?.signIn ?? '');
    assert.equal(link.origin, new URL(listening).origin.replace('127.0.0.1', 'localhost'), 'a host name, for passkeys');
    const client = await signInAtFirstRun(gateway);
    const { body } = await client.get<SessionInfo>('/api/session');
    assert.equal(body.owner.id, firstRun?.owner);
    assert.equal(body.owner.role, 'operator');
    assert.equal(body.service.apiUrl, gateway.api);
    assert.equal(body.service.consoleUrl, client.origin);
    const again = await new ConsoleClient(listening).post('/api/sign-in/link', { token: tokenIn(link.href) });
    assert.deepEqual([again.status, again.body.code], [401, 'link_not_valid']);
  });

  test('signs in any owner with a link from the command line, in the role set there', async () => {
    const here = { TOCSIN_CONSOLE_URL: new URL(gateway.line.console).origin };
    const only = await installation.run(['owner', 'sign-in'], here);
    assert.match(only.stdout, /\/sign-in#[\w-]{43}\n/, 'there is one owner, so it need not be named');
    const bob = await installation.json('owner', 'create', '--name', 'Bob', '--role', 'operator');
    const several = await installation.run(['owner', 'sign-in'], here);
    assert.match(several.stderr, /several owners\. Choose one:\n( {2}own_\S+ {2}First owner\n)? {2}own_\S+ {2}Bob/);
    assert.equal(bob.role, 'operator');
    const client = await signInAs(installation, gateway, bob.id as string);
    assert.equal((await client.get<SessionInfo>('/api/session')).body.owner.role, 'operator');
    await installation.json('owner', 'set', bob.id as string, '--role', 'owner');
    assert.equal((await client.get<SessionInfo>('/api/session')).body.owner.role, 'owner');

    const unknownOwner = await installation.run(['owner', 'sign-in', 'own_unknown'], here);
    assert.match(unknownOwner.stderr, /There is no owner own_unknown/);
    const nowhere = await installation.run(['owner', 'sign-in', bob.id as string]);
    assert.match(nowhere.stderr, /Set TOCSIN_CONSOLE_URL/);
  });

  test('sends a sign-in link by email, and responds the same for an unknown address', async () => {
    const carol = await installation.json('owner', 'create', '--name', 'Carol', '--email', 'Carol@example.org');
    const client = new ConsoleClient(gateway.line.console);
    assert.equal((await client.get<SignInOptions>('/api/sign-in')).body.mail, true);
    // The Host header of the request must not appear in an email.
    const ask = (email: string) => {
      const body = JSON.stringify({ email });
      const head = ['POST /api/sign-in/mail HTTP/1.1', 'Host: evil.example', 'Origin: http://evil.example'];
      const rest = ['Content-Type: application/json', `Content-Length: ${body.length}`, 'Connection: close', '', body];
      return rawRequest(gateway.line.console, [...head, ...rest].join('\r\n'));
    };
    const [unknown, known] = [await ask('unknown@example.org'), await ask('carol@EXAMPLE.org')];
    assert.deepEqual([unknown.status, unknown.body], [known.status, known.body]);
    assert.equal(known.status, 202);

    const [email] = await eventually(
      'an email',
      5000,
      () => smtp.emails,
      ({ length }) => length > 0,
    );
    assert.deepEqual(email?.recipients, ['Carol@example.org']);
    const { text, html } = parseMessage(email?.raw ?? '');
    const [url = ''] = /http:\S+/.exec(text) ?? [];
    assert.equal(new URL(url).origin, client.origin.replace('127.0.0.1', 'localhost'));
    assert.ok(html.includes(`href="${url}"`));
    await client.useLink(url);
    const { body } = await client.get<SessionInfo>('/api/session');
    assert.equal(body.owner.id, carol.id);
    const [session] = (await client.get<{ sessions: SessionEntry[] }>('/api/sessions')).body.sessions;
    assert.equal(session?.method, 'mail');
    assert.equal(smtp.emails.length, 1, 'no email to the unknown address');
  });

  test('sets cookies as HttpOnly, and with the __Host- prefix behind a trusted proxy with TLS', async () => {
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
    // Over TLS a cookie without the host prefix, which a neighbouring host could set, is ignored.
    assert.equal((await plain.get('/api/session')).status, 200);
    plain.cookies.delete('__Host-tocsin');
    assert.equal((await plain.get('/api/session', proxied)).status, 401);
  });

  test('writes no token to its log', async () => {
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

  /** Starts a separate console, for a test that needs other settings. */
  const start = async (t: TestContext, options: LocalConsoleOptions): Promise<LocalConsole> => {
    const another = await startLocalConsole(options);
    t.after(() => another.stop());
    return another;
  };

  test('shows the owner of a link without using it, and refuses a used or expired link', async () => {
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

  test('starts one session when twenty browsers use one link at once', async () => {
    const { id: ownerId } = await newOwner('Dave');
    const token = tokenIn(await local.link({ ownerId }));
    const clients = Array.from({ length: 20 }, () => new ConsoleClient(local.origin));
    const answers = await Promise.all(clients.map((client) => client.post('/api/sign-in/link', { token })));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ status }) => status === 401).length, 19);
    assert.equal((await local.store.sessions.list(ownerId, local.clock.now)).length, 1);
  });

  test('stores only digests of links and cookies', async () => {
    const { id: ownerId } = await newOwner('Erin');
    const client = await local.signIn(ownerId);
    const [session] = await local.store.sessions.list(ownerId, local.clock.now);
    const cookie = client.cookies.get('tocsin') ?? '';
    assert.match(cookie, /^[\w-]{43}$/);
    assert.equal(JSON.stringify(session).includes(cookie), false);
  });

  test('refuses requests without a session on every route but those for signing in and the public document', async () => {
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

  test('refuses cross-site requests that change something before it reads the cookie', async () => {
    const client = await local.signIn();
    const { host } = new URL(local.origin);
    const post = async (headers: Record<string, string>, path = '/api/phone-link'): Promise<number> => {
      const cookie = client.headers.cookie ?? '';
      return (await fetch(local.origin + path, { method: 'POST', headers: { cookie, ...headers } })).status;
    };
    assert.equal(await post({ origin: local.origin }), 200);
    assert.equal(
      await post({ 'sec-fetch-site': 'same-origin' }),
      200,
      'no Origin header, but Sec-Fetch-Site is same-origin',
    );
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

  test('uses the configured address of the console', async (t) => {
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
    assert.equal(
      (await rawRequest(origin, inTheClear)).status,
      403,
      'a page over HTTP could come from an attacker on the network',
    );
    const phone = await client.post('/api/phone-link', undefined, headers);
    assert.match(String(phone.body.url), /^https:\/\/inbox\.example\.com\/sign-in#[\w-]{43}$/);
  });

  test('ends a session immediately when it is revoked, signed out, or its owner is deleted', async () => {
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
    assert.equal(back.body.code, 'link_not_valid', 'nor does a link that was created there sign in');

    const cookie = new Map(here.cookies);
    assert.equal((await here.post('/api/sign-out')).status, 204);
    assert.deepEqual([...here.cookies.keys()], ['tocsin-browser'], 'which identifies the browser and does not sign in');
    for (const [name, value] of cookie) here.cookies.set(name, value);
    assert.equal((await here.get('/api/session')).status, 401, 'the old cookie is invalid');

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

  test('keeps a session that is used within thirty days, and ends it afterwards', async () => {
    const client = await local.signIn();
    local.clock.now += 29 * dayMs;
    const { headers } = await client.get('/api/session');
    assert.match(
      headers.getSetCookie().join(),
      /^tocsin=.*Max-Age=2592000/,
      'the browser keeps the cookie longer, too',
    );
    assert.deepEqual((await client.get('/api/session')).headers.getSetCookie(), [], 'not with every request');
    local.clock.now += 29 * dayMs;
    assert.equal((await client.get('/api/session')).status, 200);
    local.clock.now += 31 * dayMs;
    assert.equal((await client.get('/api/session')).status, 401);
  });

  test('sends at most three links per address in 15 minutes, and none for clients above the request limit', async () => {
    const client = new ConsoleClient(local.origin);
    const ask = async (): Promise<number> =>
      (await client.post('/api/sign-in/mail', { email: 'ann@example.org' })).status;
    for (let count = 0; count < 10; count += 1) assert.equal(await ask(), 202);
    assert.equal(await ask(), 429);
    await eventually(
      'three emails',
      2000,
      () => local.emails.length,
      (count) => count === 3,
    );
    const [first] = local.emails;
    await client.useLink(first?.url ?? '');
  });

  test('sets the address when the owner opens the emailed link, which does not sign in another browser', async () => {
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
    assert.deepEqual(ann.cookies, before, 'her session continues');
    assert.equal((await ann.post('/api/sign-in/link', { token })).body.code, 'link_not_valid');
  });

  test('reports to the operator that a link could not be sent, without the address', async (t) => {
    const sendSignInLink = () => Promise.reject(new EmailNotSent('The SMTP server refused the recipient (550)'));
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
    assert.deepEqual(warnings, ['The SMTP server refused the recipient (550)']);
    assert.deepEqual(failures, []);
  });

  test('names the problem of an invalid request and never reports an internal error for it', async () => {
    const client = new ConsoleClient(local.origin);
    const path = '/api/sign-in/link';
    const raw = async (body: string, type = 'application/json') => {
      const response = await client.fetch(path, { method: 'POST', body, headers: { 'content-type': type } });
      const { code, details } = (await response.json()) as { code: string; details?: unknown };
      return { status: response.status, code, ...(details !== undefined && { details }) };
    };
    const missing = [{ field: 'token', problem: 'is required' }];
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

  test('allows reading while the store refuses writes', async (t) => {
    const wrapStore = (store: Store): Store => ({
      ...store,
      sessions: { ...store.sessions, touch: () => Promise.reject(new StoreUnavailable('the disk is full')) },
    });
    const { signIn, clock } = await start(t, { wrapStore });
    const client = await signIn();
    clock.now += dayMs;
    assert.equal((await client.get('/api/session')).status, 200);
  });

  test('distinguishes an unavailable store from an internal error, whose cause it does not reveal', async (t) => {
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
      assert.deepEqual([away.status, away.body.code], [503, 'unavailable'], 'which does not end the session');
    }
    failure = new Error('canary');
    const fault = await client.get('/api/session');
    assert.deepEqual([fault.status, fault.body.code], [500, 'internal']);
    assert.doesNotMatch(JSON.stringify(fault.body), /canary/);
    assert.deepEqual(failures, [failure]);
  });
});

test('On PostgreSQL a session, its end and the registration of a passkey continue on another node', async (t) => {
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

  // A text that PostgreSQL does not accept.
  assert.equal((await onA.delete('/api/passkeys/a%00')).status, 404);

  const authenticator = new SoftwareAuthenticator(site);
  const wanted = await onA.post<Parameters<typeof authenticator.create>[0]>('/api/passkeys/options');
  for (const [name, value] of onA.cookies) onB.cookies.set(name, value);
  const made = await onB.post('/api/passkeys', { name: 'Laptop', credential: authenticator.create(wanted.body) });
  assert.equal(made.status, 201, 'one node creates the challenge, the other verifies the signature');

  assert.equal((await onB.post('/api/sign-out')).status, 204);
  assert.equal((await onA.get('/api/session')).status, 401);
});
