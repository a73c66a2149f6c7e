// Preferences, email addresses and owners in the console, against the running service and a real SMTP server.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type {
  ConsoleError,
  CreatedKeyEntry,
  DeviceWithSettings,
  InboxListing,
  OwnerOverview,
  Preferences,
  SessionEntry,
  SessionInfo,
  TestResult,
} from '@tocsin/contract/console';
import { ConsoleClient, signInAs, signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { parseMessage } from '@tocsin/test-support/smtp-message.ts';
import { startSmtpServer, type TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import Fastify from 'fastify';
import { channels } from '../src/channels/registry.ts';
import type { ConsoleApiDeps } from '../src/console/deps.ts';
import { addApi } from '../src/console/routes.ts';

const noQuietHours = Object.fromEntries(channels.map(({ name }) => [name, null]));

const plainKey = { type: 'public_client', allowedDomains: [], requireSignature: false };
/** Valid values for the body of any route. */
const wantedByAny = { name: 'x', email: null, channel: 'mqtt', token: 'x', count: 1, ...plainKey };

/** Every route under /api, as the service itself registers it. */
async function routesOfApi(): Promise<{ method: string; path: string }[]> {
  const app = Fastify();
  const routes: { method: string; path: string }[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) if (each !== 'HEAD') routes.push({ method: each, path: url });
  });
  // No request is made here, so that most dependencies are not needed.
  const service = { version: '0', webPushKey: '', retentionDays: 0, knowsLastSeen: true };
  addApi(app, { stopping: new AbortController().signal, service } as unknown as ConsoleApiDeps);
  await app.ready();
  return routes;
}

const markup = '<script>alert(1)</script>';

suite('With an SMTP server', () => {
  let smtp: TestSmtpServer;
  let installation: Installation;
  let gateway: GatewayProcess;
  /** The first owner is an operator. */
  let ann: ConsoleClient;
  let ben: ConsoleClient;
  let benId: string;

  before(async () => {
    smtp = await startSmtpServer();
    installation = await Installation.create({
      TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      TOCSIN_EMAIL_FROM: 'Tocsin <tocsin@example.com>',
      TOCSIN_RETENTION_DAYS: '30',
    });
    gateway = await installation.serve();
    ann = await signInAtFirstRun(gateway);
    ({ id: benId } = (await installation.json('owner', 'create', '--name', 'Ben')) as { id: string });
    ben = await signInAs(installation, gateway, benId);
  });
  after(async () => {
    await installation.remove();
    await smtp.kill();
  });

  /** The link in the newest email to that address. */
  async function linkEmailedTo(address: string): Promise<string> {
    const email = await eventually(
      `an email to ${address}`,
      5000,
      () => smtp.emails.findLast(({ recipients }) => recipients.includes(address)),
      (found) => found !== undefined,
    );
    const [link] = /http:\S+\/sign-in#[\w-]+/.exec(parseMessage(email?.raw ?? '').text) ?? [];
    assert.ok(link, 'the email has a link');
    return link;
  }

  async function emailOf(client: ConsoleClient): Promise<string | null> {
    return (await client.get<SessionInfo>('/api/session')).body.owner.email;
  }

  test('preferences are stored unchanged and apply to callers within a second', async () => {
    const { body: before } = await ann.get<Preferences>('/api/preferences');
    assert.deepEqual([before.quietHours, before.retentionDays], [null, null]);
    // From an hour ago until in an hour, in a time zone nine hours ahead.
    const hour = (offset: number): string =>
      new Date(Date.now() + (9 + offset) * 3_600_000).toISOString().slice(11, 16);
    const wanted: Preferences = {
      name: markup,
      emailAlerts: false,
      quietHours: { timeZone: 'Asia/Tokyo', ...noQuietHours, mqtt: { from: hour(-1), to: hour(1) } },
      retentionDays: 30,
    };
    const { status, body } = await ann.put<Preferences>('/api/preferences', wanted);
    assert.deepEqual({ status, body }, { status: 200, body: wanted });
    assert.deepEqual((await ann.get('/api/preferences')).body, wanted);
    const send = (severity: string) => notify(gateway, { title: 'Alert', severity });
    await eventually(
      'MQTT is muted',
      2000,
      () => send('error'),
      (answer) => answer.body.mqttSkipReason === 'quiet_hours',
    );
    assert.equal((await send('critical')).body.mqttPublishedCount, 1);
    await ann.put('/api/preferences', { ...wanted, quietHours: null });
  });

  test('invalid preferences are refused, each by name', async () => {
    const wrong = {
      name: 'x'.repeat(101),
      emailAlerts: true,
      quietHours: {
        timeZone: 'Mars/Olympus',
        push: { from: '22:00', to: '22:00' },
        email: { from: '24:00', to: '7:00' },
        mqtt: 'night',
      },
      retentionDays: 31,
    };
    const { status, body } = await ann.put<ConsoleError>('/api/preferences', wrong);
    assert.deepEqual([status, body.code], [400, 'invalid_body']);
    assert.deepEqual(
      new Set(body.details?.map(({ field }) => field)),
      new Set([
        'name',
        'emailAlerts',
        'quietHours.timeZone',
        'quietHours.push',
        'quietHours.email',
        'quietHours.mqtt',
        'retentionDays',
      ]),
    );
    for (const retentionDays of [0, -1, 1.5, '7', 36_501]) {
      const { body: current } = await ann.get<Preferences>('/api/preferences');
      assert.equal((await ann.put('/api/preferences', { ...current, retentionDays })).status, 400);
    }
  });

  test('a new address applies after its confirmation link was opened, and is removed immediately', async () => {
    const refused = await ben.post<ConsoleError>('/api/preferences/test-mail');
    assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
    assert.match(refused.body.error, /Enter one first/);

    const { body } = await ben.post('/api/preferences/email', { email: 'ben@example.com' });
    assert.deepEqual(body, { email: 'ben@example.com', confirmation: true });
    assert.equal(await emailOf(ben), null);
    await ben.useLink(await linkEmailedTo('ben@example.com'));
    assert.equal(await emailOf(ben), 'ben@example.com');

    const sent = await ben.post<TestResult>('/api/preferences/test-mail');
    assert.deepEqual([sent.body.isSent, sent.body.error], [true, null]);
    assert.match(smtp.emails.at(-1)?.raw ?? '', /Test from Tocsin/);
    smtp.faults.rcpt = 451;
    const failed = await ben.post<TestResult>('/api/preferences/test-mail');
    assert.equal(failed.body.isSent, false);
    assert.match(failed.body.error ?? '', /451.*It will be retried/);
    const unconfirmed = await ben.post<ConsoleError>('/api/preferences/email', { email: 'other@example.com' });
    assert.deepEqual([unconfirmed.status, unconfirmed.body.code], [503, 'unavailable']);
    smtp.resume();

    const removed = await ben.post('/api/preferences/email', { email: null });
    assert.deepEqual(removed.body, { email: null, confirmation: false });
    assert.equal(await emailOf(ben), null);
    assert.equal((await ben.get<Preferences>('/api/preferences')).body.emailAlerts, false);
  });

  test('an operator sees owners and counts and invites owners by email; only the email has the link', async () => {
    const wanted = { name: markup, email: 'Cem@example.com' };
    const created = await ann.post<OwnerOverview>('/api/operator/owners', wanted);
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const { id, createdAt } = created.body;
    const none = { keys: 0, devices: 0, pushTargets: 0, waiting: 0, dead: 0, newestAt: null };
    assert.deepEqual(created.body, { id, ...wanted, role: 'owner', createdAt, ...none });
    const first = await linkEmailedTo('Cem@example.com');
    const invited = await ann.post(`/api/operator/owners/${id}/invite`);
    assert.deepEqual([invited.status, invited.body], [202, { ok: true }]);
    const second = await linkEmailedTo('Cem@example.com');
    assert.notEqual(first, second);
    const cem = new ConsoleClient(gateway.line.console);
    await cem.useLink(second);
    await cem.post('/api/devices', { name: 'Phone' });

    const { body } = await ann.get<{ owners: OwnerOverview[] }>('/api/operator/owners');
    assert.deepEqual(
      body.owners.find((owner) => owner.id === id),
      { ...created.body, devices: 1 },
    );
    const own = body.owners.find((owner) => owner.role === 'operator');
    assert.deepEqual([own?.keys, own?.devices, typeof own?.newestAt], [1, 1, 'number']);

    assert.equal((await ann.post('/api/operator/owners', { ...wanted, email: 'cem@EXAMPLE.com' })).status, 409);
    assert.equal((await ann.post('/api/operator/owners', { name: ' ', email: 'x' })).status, 400);
    assert.equal((await ann.post('/api/operator/owners/own_0000000000000000/invite')).status, 404);
    assert.equal((await ann.post(`/api/operator/owners/${benId}/invite`)).status, 409, 'Ben has no address');
  });

  test('no route gives an operator the notifications of another owner, nor a way to sign in', async () => {
    const secret = 'canary-4711';
    await ben.put('/api/preferences', { name: 'Ben', emailAlerts: false, quietHours: null, retentionDays: null });
    await installation.json('owner', 'set', benId, '--email', 'ben@example.com');
    const device = await ben.post<DeviceWithSettings>('/api/devices', { name: `${secret} phone` });
    const key = await ben.post<CreatedKeyEntry>('/api/keys', { ...plainKey, label: `${secret} key` });
    const sent = await notify({ api: gateway.api, key: key.body.value }, { title: secret, data: { [secret]: secret } });
    const sessions = await ben.get<{ sessions: SessionEntry[] }>('/api/sessions');
    const ids = [benId, device.body.device.id, key.body.key.id, sent.body.id, sessions.body.sessions[0]?.id as string];
    const look = async () => [
      // The position moves with time.
      { ...(await ben.get<InboxListing>('/api/notifications')).body, position: '' },
      (await ben.get('/api/devices')).body,
      (await ben.get('/api/keys')).body,
    ];
    const before = await look();

    const answers: string[] = [];
    const ask = async (method: string, path: string): Promise<void> => {
      const body = { ids: [sent.body.id], id: sent.body.id, through: sent.body.id, isRead: true, ...wantedByAny };
      const response = await ann.fetch(path, {
        method,
        ...(method !== 'GET' && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
        // One of them is an endless stream.
        ...(path.startsWith('/api/events') && { signal: AbortSignal.timeout(300) }),
      });
      const text = await response.text().catch(() => '');
      assert.ok(response.status < 500, `${method} ${path} ended with ${response.status}: ${text}`);
      answers.push(JSON.stringify([...response.headers]) + text);
    };
    const routes = (await routesOfApi()).filter(({ path }) => path !== '/api/sign-out');
    assert.ok(routes.length > 40, `only ${routes.length} routes`);
    for (const { method, path } of routes) {
      const query = `?owner=${benId}&ownerId=${benId}&q=${secret}&before=&limit=50`;
      if (!path.includes('/:')) await ask(method, path + (method === 'GET' ? query : ''));
      else for (const id of ids) await ask(method, path.replace(/:\w+/, id));
    }
    const emailedTokens = smtp.emails.flatMap(({ raw }) => parseMessage(raw).text.match(/sign-in#[\w-]+/g) ?? []);
    assert.ok(emailedTokens.length > 0, 'Ben was invited on the way');
    for (const hidden of [secret, key.body.value, device.body.mqtt.password, ...emailedTokens]) {
      assert.deepEqual(
        answers.filter((answer) => answer.includes(hidden)),
        [],
      );
    }
    assert.deepEqual(await look(), before, 'and none of his data was changed');
    assert.equal((await ann.get('/api/session')).status, 200, 'she stayed signed in');
  });

  test('an owner who is not an operator is refused and sees no owners', async () => {
    for (const answer of [
      await ben.get<ConsoleError>('/api/operator/owners'),
      await ben.post<ConsoleError>('/api/operator/owners', { name: 'x', email: null }),
      await ben.post<ConsoleError>(`/api/operator/owners/${benId}/invite`),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [403, 'operators_only']);
      assert.deepEqual(Object.keys(answer.body), ['ok', 'error', 'code']);
    }
  });
});
