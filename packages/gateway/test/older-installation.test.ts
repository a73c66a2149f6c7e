// An upgrade breaks nothing that worked: an installation of version 0.1 keeps its defaults, and its operator is informed
// what to set. A new installation has the strict defaults.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { ConsoleError, PasskeyEntry, SessionInfo } from '@tocsin/contract/console';
import { ConsoleClient, linkFor } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { createOlderInstallation, older } from '@tocsin/test-support/older-installation.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { rawRequest } from '@tocsin/test-support/raw-request.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { startSmtpServer, type TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { SoftwareAuthenticator } from '@tocsin/test-support/software-authenticator.ts';

const users = { relay: 'relay-word' };

/** An SMTP server with a password and without TLS, and an installation that uses it. */
async function withPlainSmtp(
  t: TestContext,
  create: (environment: Record<string, string>) => Promise<Installation>,
  parameters = '',
): Promise<{ smtpServer: TestSmtpServer; installation: Installation; gateway: GatewayProcess }> {
  const smtpServer = await startSmtpServer({ users, disabledCommands: ['STARTTLS'] });
  t.after(() => smtpServer.kill());
  const installation = await create({
    TOCSIN_SMTP_URL: `smtp://relay:${users.relay}@127.0.0.1:${smtpServer.port}${parameters}`,
    TOCSIN_EMAIL_FROM: 'tocsin@example.com',
  });
  t.after(() => installation.remove());
  return { smtpServer, installation, gateway: await installation.serve() };
}

async function sendEmail(installation: Installation, gateway: GatewayProcess, key: string) {
  const { body } = await notify({ api: gateway.api, key }, { title: 'Hello', sendEmail: true });
  const doctor = await installation.run(['doctor', '--json']);
  const { findings } = JSON.parse(doctor.stdout) as { findings: { check: string; state: string; message: string }[] };
  return { body, warnings: findings.filter(({ state }) => state === 'warning').map(({ message }) => message) };
}

test('An installation of version 0.1 starts with all its data', async (t) => {
  // Disables retention, since the stored notification gets older every day.
  const installation = await createOlderInstallation({ TOCSIN_RETENTION_DAYS: '0' });
  t.after(() => installation.remove());
  const gateway = await installation.serve();
  assert.equal((await notify({ api: gateway.api, key: older.key }, { title: 'After the upgrade' })).status, 200);
  const inbox = await installation.json<{ title: string }[]>('inbox', 'list');
  assert.deepEqual(inbox.map(({ title }) => title).sort(), ['After the upgrade', 'From the last version']);
  const { exitCode, stdout } = await installation.run(['doctor', '--deep']);
  assert.equal(exitCode, 0, stdout);
});

test('An installation of version 0.1 keeps sending email without TLS, and doctor reports what to set', async (t) => {
  const { smtpServer, installation, gateway } = await withPlainSmtp(t, createOlderInstallation);
  const { body, warnings } = await sendEmail(installation, gateway, older.key);
  assert.equal(body.emailSent, true, JSON.stringify(body));
  assert.equal(smtpServer.emails.length, 1);
  assert.ok(warnings.some((warning) => warning.includes('Append ?requireTLS=true to TOCSIN_SMTP_URL')));
  assert.match(gateway.log, /Append \?requireTLS=true to TOCSIN_SMTP_URL/);
  assert.doesNotMatch(gateway.log, /relay-word/);
});

test('A new installation sends no email and no password without TLS', async (t) => {
  const { smtpServer, installation, gateway } = await withPlainSmtp(t, (environment) =>
    Installation.create(environment),
  );
  await installation.json('owner', 'set', gateway.line.firstRun?.owner as string, '--email', 'ann@example.com');
  const { body } = await sendEmail(installation, gateway, gateway.key);
  assert.equal(body.emailSent, false);
  assert.deepEqual(smtpServer.emails, []);
  assert.doesNotMatch(smtpServer.transcript, /AUTH|MAIL FROM/);
  const { stdout } = await installation.run(['doctor']);
  assert.match(stdout, /FAILED {3}email: .*requireTLS=false/);
  assert.doesNotMatch(gateway.log, /requireTLS=true/);
});

test('An installation with an explicit requireTLS=false sends without TLS, and doctor warns', async (t) => {
  for (const create of [createOlderInstallation, (each: Record<string, string>) => Installation.create(each)]) {
    const { smtpServer, installation, gateway } = await withPlainSmtp(t, create, '?requireTLS=false');
    const key = gateway.line.firstRun?.key ?? older.key;
    const owner = gateway.line.firstRun?.owner ?? older.owner;
    await installation.json('owner', 'set', owner, '--email', 'ann@example.com');
    const { body, warnings } = await sendEmail(installation, gateway, key);
    assert.deepEqual([body.emailSent, smtpServer.emails.length], [true, 1]);
    assert.ok(warnings.some((warning) => warning.includes('TOCSIN_SMTP_URL has requireTLS=false')));
    assert.doesNotMatch(gateway.log, /requireTLS/);
  }
});

test('requireTLS=true sends nothing without TLS, also in an installation of version 0.1', async (t) => {
  const { smtpServer, installation, gateway } = await withPlainSmtp(t, createOlderInstallation, '?requireTLS=true');
  const { body, warnings } = await sendEmail(installation, gateway, older.key);
  assert.deepEqual([body.emailSent, smtpServer.emails], [false, []]);
  assert.ok(warnings.every((warning) => !warning.includes('requireTLS')));
});

/** GET with the given Host header; returns the status. */
async function statusFor({ line }: GatewayProcess, host: string | null, path = '/metrics'): Promise<number> {
  const { port } = new URL(line.console);
  const request = get({ host: '127.0.0.1', port, path, setHost: false, headers: host === null ? {} : { host } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode as number;
}

test('The console of a new installation responds only to host names that no web page can claim', async (t) => {
  const installation = await install(t);
  const settings = {
    TOCSIN_CONSOLE_URL: 'https://inbox.example.com',
    TOCSIN_CONSOLE_HOSTS: 'inbox.lan, nas.example.net',
  };
  const gateway = await installation.serve(settings);
  const known = [
    'localhost',
    'localhost:8081',
    '127.0.0.1',
    '[::1]:8081',
    '192.168.1.7:80',
    'tocsin:8081',
    'a.localhost',
  ];
  for (const host of [...known, 'inbox.example.com', 'INBOX.lan:8081', 'nas.example.net.']) {
    assert.equal(await statusFor(gateway, host), 200, `${host}`);
  }
  const unknown = [
    'evil.example',
    'evil.example:8081',
    'inbox.example.com.evil.example',
    '127.0.0.1.evil.example',
    'a b',
  ];
  for (const host of unknown) {
    for (const path of ['/metrics', '/readyz', '/', '/api/sign-in', '/nothing']) {
      assert.equal(await statusFor(gateway, host, path), 421, `${host} ${path}`);
    }
  }
  assert.equal(await statusFor(gateway, 'evil.example', '/healthz'), 200, 'a health check depends on no setting');
  const { port } = new URL(gateway.line.console);
  const request = 'GET /api/sign-in HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n';
  const { body } = await rawRequest(`http://127.0.0.1:${port}`, request);
  assert.deepEqual([body?.code as string, /TOCSIN_CONSOLE_URL/.test(body?.error ?? '')], ['unknown_host', true]);
  await gateway.stop();

  const any = await installation.serve({ TOCSIN_CONSOLE_HOSTS: '*' });
  assert.equal(await statusFor(any, 'evil.example'), 200);
});

test('The console of version 0.1 keeps responding to any host name until names are set, and logs a warning', async (t) => {
  const installation = await createOlderInstallation();
  t.after(() => installation.remove());
  const gateway = await installation.serve();
  for (const name of ['nas.example.net', 'nas.example.net', 'other.example']) {
    assert.equal(await statusFor(gateway, name), 200);
  }
  const warned = () => gateway.log.split('\n').filter((line) => line.includes('"nas.example.net"')).length;
  await eventually('the log names the host', 5000, warned, (count) => count === 1);
  assert.match(gateway.log, /Set TOCSIN_CONSOLE_HOSTS/);
  assert.match((await installation.run(['doctor'])).stdout, /warning {2}console: .*TOCSIN_CONSOLE_HOSTS/);
  await gateway.stop();
  const strict = await installation.serve({ TOCSIN_CONSOLE_HOSTS: 'nas.example.net' });
  assert.equal(await statusFor(strict, 'nas.example.net'), 200);
  assert.equal(await statusFor(strict, 'other.example'), 421);
  assert.doesNotMatch(strict.log, /Set TOCSIN_CONSOLE_HOSTS/);
});

/** Requests a challenge and signs it. */
async function signIn(origin: string, authenticator: SoftwareAuthenticator) {
  const client = new ConsoleClient(origin);
  type Options = Parameters<SoftwareAuthenticator['get']>[0];
  const { body: options } = await client.post<Options>('/api/sign-in/passkey/options');
  const answer = await client.post<ConsoleError>('/api/sign-in/passkey', { credential: authenticator.get(options) });
  return { client, ...answer };
}

test('An operator of version 0.1 whose passkey does no user verification can sign in, and is asked for one that does', async (t) => {
  const installation = await createOlderInstallation();
  t.after(() => installation.remove());
  const gateway = await installation.serve();
  const origin = new URL(gateway.line.console).origin.replace('127.0.0.1', 'localhost');
  const old = new SoftwareAuthenticator(origin);
  old.verifiesUser = false;
  old.load(older.passkey);
  const first = await signIn(origin, old);
  assert.equal(first.status, 200, JSON.stringify(first.body));
  const session = async () => (await first.client.get<SessionInfo>('/api/session')).body;
  assert.equal((await session()).needsVerifiedPasskey, true);
  assert.match(
    (await installation.run(['doctor'])).stdout,
    /warning {2}console: the operator Ann .* has no passkey with user verification/,
  );

  const register = async (authenticator: SoftwareAuthenticator) => {
    type Options = Parameters<SoftwareAuthenticator['create']>[0];
    const { body: options } = await first.client.post<Options>('/api/passkeys/options');
    const credential = authenticator.create(options);
    return first.client.post<PasskeyEntry & ConsoleError>('/api/passkeys', { name: 'New', credential });
  };
  const another = new SoftwareAuthenticator(origin);
  another.verifiesUser = false;
  const refused = await register(another);
  assert.deepEqual([refused.status, refused.body.code], [401, 'passkey_refused']);
  assert.match(refused.body.error, /PIN/);
  assert.equal((await signIn(origin, old)).status, 200, 'still the only one');

  const fingerprint = new SoftwareAuthenticator(origin);
  assert.equal((await register(fingerprint)).status, 201);
  assert.equal((await session()).needsVerifiedPasskey, false);
  assert.equal((await signIn(origin, fingerprint)).status, 200);
  const late = await signIn(origin, old);
  assert.deepEqual([late.status, late.body.code], [401, 'passkey_refused']);
  assert.match(late.body.error, /PIN.*owner sign-in/s);
  assert.doesNotMatch((await installation.run(['doctor'])).stdout, /no passkey with user verification/);
  const byLink = new ConsoleClient(origin);
  await byLink.useLink(await linkFor(installation, origin, older.owner));
  // Once a PIN is set on it, the old passkey is as good as the new one.
  old.verifiesUser = true;
  assert.equal((await signIn(origin, old)).status, 200);
});

test('An installation of version 0.1 is recognized as such after a backup, and in PostgreSQL', async (t) => {
  if (!canRun(t, postgresObstacle())) return;
  const postgres = await Postgres.start();
  t.after(() => postgres.stop());
  const installation = await createOlderInstallation();
  t.after(() => installation.remove());
  const isWarned = async (environment: Record<string, string>): Promise<boolean> =>
    (await installation.run(['doctor'], environment)).stdout.includes('TOCSIN_CONSOLE_HOSTS');
  const url = await postgres.createDatabase();
  const backup = `${installation.dataDir}/backup`;
  for (const args of [
    ['migrate-store', '--to', url],
    ['backup', backup],
  ]) {
    const { exitCode, stderr } = await installation.run(args);
    assert.equal(exitCode, 0, stderr);
  }
  assert.equal(await isWarned({ TOCSIN_DATABASE_URL: url }), true);
  const restored = await postgres.createDatabase();
  const { exitCode, stderr } = await installation.run(['restore', backup], { TOCSIN_DATABASE_URL: restored });
  assert.equal(exitCode, 0, stderr);
  assert.equal(await isWarned({ TOCSIN_DATABASE_URL: restored }), true);
  const fresh = await install(t, { TOCSIN_DATABASE_URL: await postgres.createDatabase() });
  await fresh.serve();
  assert.doesNotMatch((await fresh.run(['doctor'])).stdout, /TOCSIN_CONSOLE_HOSTS/);
});
