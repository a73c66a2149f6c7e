// The inbox over the console's API, as the app of its owner uses it, against the running service.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type {
  ConsoleError,
  DeliveryEntry,
  InboxDetail,
  InboxEntry,
  InboxListing,
  UnreadCount,
} from '@tocsin/contract/console';
import { ConsoleClient, signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { search } from '@tocsin/test-support/console-streams.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { findFreePort, Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { serverText, startSmtpServer, type TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { withStore } from '@tocsin/test-support/stored-notifications.ts';
import { channels } from '../src/channels/registry.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import { makeLink } from '../src/usecases/one-time-links.ts';
import { createKey, systemEnvironment } from '../src/usecases/registration.ts';

const nobodys = '01890000-0000-7000-8000-000000000000';
const ids = (entries: readonly InboxEntry[]): string[] => entries.map(({ id }) => id);
const titles = (entries: readonly InboxEntry[]): string[] => entries.map(({ title }) => title);

suite('The inbox', () => {
  let installation: Installation;
  let gateway: GatewayProcess;
  let smtp: TestSmtpServer;
  /** null if this machine has none. */
  let mosquitto: Mosquitto | null = null;
  let ann: ConsoleClient;
  let bob: { id: string; client: ConsoleClient; api: string; key: string };

  before(async () => {
    smtp = await startSmtpServer();
    if (mosquittoObstacle() === null) mosquitto = await Mosquitto.start();
    const brokerPort = mosquitto?.port ?? (await findFreePort());
    installation = await Installation.create({
      TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${brokerPort}`,
      TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      TOCSIN_EMAIL_FROM: 'tocsin@example.com',
    });
    gateway = await installation.serve();
    ann = await signInAtFirstRun(gateway);
    bob = { api: gateway.api, ...(await makeOwner('Bob')) };
  });

  after(async () => {
    await installation.remove();
    await smtp.kill();
    await mosquitto?.stop();
  });

  async function makeOwner(name: string): Promise<{ id: string; client: ConsoleClient; key: string }> {
    const { id } = (await ann.post<{ id: string }>('/api/operator/owners', { name, email: null })).body;
    const client = new ConsoleClient(ann.origin);
    return withStore(installation.dataDir, async (store) => {
      const { value: key } = await createKey(store, systemEnvironment, { ownerId: id, type: 'public_client' });
      const wanted = { ownerId: id, method: 'link', lifetimeMs: 60_000, now: Date.now() } as const;
      await client.useLink((await makeLink(store, wanted, ann.origin)).url);
      return { id, client, key };
    });
  }

  async function list(client: ConsoleClient, query = ''): Promise<InboxListing> {
    const { status, body } = await client.get<InboxListing>(`/api/notifications?${query}`);
    assert.equal(status, 200);
    return body;
  }

  /** Notifies Bob, who has no device, so that nothing is delivered. */
  async function notifyBob(...wanted: object[]): Promise<string[]> {
    for (const each of wanted) assert.equal((await notify(bob, each)).body.stored, true);
    return ids((await list(bob.client, `limit=${wanted.length}`)).notifications).reverse();
  }

  test('lists notifications in pages, newest first, and treats their content as text', async () => {
    const hostile = {
      title: '<script>alert(1)</script>',
      body: '"><img src=x onerror=alert(1)>\u2028{{constructor}}',
      source: 'javascript:alert(1)',
      severity: 'critical',
      data: { '<b>': ['</script>', { href: 'javascript:alert(1)', __proto__x: null }] },
    };
    const sent = await notifyBob({ title: 'one' }, { title: 'two' }, hostile);
    const { status, headers, body } = await bob.client.get<InboxListing>('/api/notifications?limit=2');
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    const [newest, older] = body.notifications;
    assert.ok(newest && older);
    const { id, createdAt, ...content } = newest;
    assert.equal(id, sent[2]);
    assert.ok(Math.abs(createdAt - Date.now()) < 60_000);
    assert.deepEqual(content, { ...hostile, category: 'info', isRead: false });
    assert.equal(older.title, 'two');
    assert.equal(body.next, older.id);
    assert.equal(body.damaged, 0);
    const rest = await list(bob.client, `limit=2&before=${body.next}`);
    assert.deepEqual([titles(rest.notifications), rest.next], [['one'], null]);
    const detail = await bob.client.get<InboxDetail>(`/api/notifications/${id}`);
    assert.deepEqual(detail.body, { notification: newest, deliveries: [] }, 'Bob has no targets');
  });

  test('counts unread notifications as they are marked read, unread, and all read', async () => {
    const [first = '', second = '', third = ''] = await notifyBob({ title: 'a' }, { title: 'b' }, { title: 'c' });
    await readAll(bob.client, third);
    const unread = async (): Promise<number> =>
      (await bob.client.get<UnreadCount>('/api/notifications/unread')).body.count;
    assert.equal(await unread(), 0);
    const mark = async (marked: string[], isRead: boolean): Promise<void> => {
      const { status, body } = await bob.client.post('/api/notifications/read', { ids: marked, isRead });
      assert.deepEqual([status, body], [204, null]);
    };
    await mark([first, second, nobodys], false);
    assert.equal(await unread(), 2);
    const { notifications, unread: counted } = await list(bob.client, 'unread=1');
    assert.deepEqual([ids(notifications), counted.count], [[second, first], 2]);
    assert.deepEqual(ids((await search(bob.client, { unread: '1' })).matches), [second, first]);
    await mark([second], true);
    assert.equal(await unread(), 1);
    await readAll(bob.client, second);
    assert.equal(await unread(), 0);
  });

  test('removes deleted notifications immediately and restores them unchanged', async () => {
    const [kept = '', gone = ''] = await notifyBob({ title: 'kept' }, { title: 'gone' });
    await bob.client.post('/api/notifications/read', { ids: [gone], isRead: true });
    const remove = () => bob.client.post<{ count: number }>('/api/notifications/delete', { ids: [gone, nobodys] });
    assert.deepEqual((await remove()).body, { count: 1 });
    assert.deepEqual((await remove()).body, { count: 0 }, 'once');
    assert.deepEqual(ids((await list(bob.client, 'limit=1')).notifications), [kept]);
    assert.equal((await bob.client.get(`/api/notifications/${gone}`)).status, 404);
    assert.equal((await search(bob.client, { q: 'gone' })).matches.length, 0);
    const { body } = await bob.client.post('/api/notifications/restore', { ids: [gone, kept, nobodys] });
    assert.deepEqual(body, { count: 1 });
    const [back] = (await list(bob.client, 'limit=1')).notifications;
    assert.deepEqual([back?.id, back?.isRead], [gone, true]);
  });

  test('stops counting unread notifications at a thousand', async () => {
    const { id: ownerId, client: busy } = await makeOwner('Busy');
    const newId = createUuidV7Source(Date.now, () => crypto.randomUUID());
    const fill = (count: number): Promise<unknown> =>
      withStore(installation.dataDir, (store) =>
        Promise.all(
          Array.from({ length: count }, () =>
            store.notifications.save({ id: newId(), ownerId, createdAt: Date.now(), content: sampleContent() }),
          ),
        ),
      );
    await fill(999);
    assert.deepEqual((await list(busy, 'limit=1')).unread, { count: 999, atMost: 1000 });
    await fill(5);
    assert.deepEqual((await list(busy, 'limit=1')).unread, { count: 1000, atMost: 1000 });
  });

  test('treats ids of another owner as not found on every route', async () => {
    const [mine = ''] = await notifyBob({ title: 'private' });
    await notify(gateway, { title: 'hers' });
    const hers = (await list(ann)).notifications;
    for (const [method, path, body] of [
      ['GET', `/api/notifications/${mine}`],
      ['POST', `/api/notifications/${mine}/retry`, {}],
    ] as const) {
      const answer = await ann.ask<ConsoleError>(method, path, body);
      const never = await ann.ask<ConsoleError>(method, path.replace(mine, nobodys), body);
      assert.equal(answer.status, 404);
      assert.deepEqual(answer.body, never.body, 'the same response as for an unknown id');
      assert.equal(answer.body.code, 'not_found');
    }
    const before = await list(bob.client, 'limit=100');
    assert.equal((await ann.post('/api/notifications/read', { ids: [mine], isRead: true })).status, 204);
    assert.equal((await ann.post('/api/notifications/read-all', { through: mine })).status, 204);
    assert.deepEqual((await ann.post('/api/notifications/read-all/undo', { through: mine })).body, { isUndone: false });
    assert.deepEqual((await ann.post('/api/notifications/delete', { ids: [mine] })).body, { count: 0 });
    await bob.client.post('/api/notifications/delete', { ids: [mine] });
    assert.deepEqual((await ann.post('/api/notifications/restore', { ids: [mine] })).body, { count: 0 });
    await bob.client.post('/api/notifications/restore', { ids: [mine] });
    // The position moves with time and with Bob's own changes.
    const after = { ...(await list(bob.client, 'limit=100')), position: before.position };
    assert.deepEqual(after, before);
    // Used as a position to continue from, it reveals no more than a time does.
    for (const query of [`before=${mine}`, 'limit=100']) {
      const seen = [...(await list(ann, query)).notifications, ...(await search(ann, { q: 'private' })).matches];
      assert.ok(!ids(seen).includes(mine));
    }
    assert.deepEqual((await list(ann)).notifications, hers);
  });

  test('refuses invalid requests and names the problem', async () => {
    for (const id of ['x', '..', '%00', `${nobodys}'`, nobodys.toUpperCase().replace('0189', 'ABCD'), '1'.repeat(99)]) {
      const { status } = await ann.get(`/api/notifications/${encodeURIComponent(id)}`);
      assert.equal(status, 404, id);
      assert.equal((await ann.post(`/api/notifications/${encodeURIComponent(id)}/retry`, {})).status, 404, id);
    }
    const many = Array.from({ length: 501 }, () => nobodys);
    const refused = await Promise.all([
      ...['limit=0', 'limit=101', 'limit=x', 'before=x', 'unread=yes', 'before=a&before=b'].map((query) =>
        ann.get<ConsoleError>(`/api/notifications?${query}`),
      ),
      ...[`q=${'x'.repeat(201)}`, 'severity=fatal', 'category=info,', 'limit=1000'].map((query) =>
        ann.get<ConsoleError>(`/api/notifications/search?${query}`),
      ),
      ...[{}, { ids: [] }, { ids: many }, { ids: ['x'] }, { ids: nobodys, more: 1 }, null, [[]]].map((body) =>
        ann.post<ConsoleError>('/api/notifications/delete', body),
      ),
      ann.post<ConsoleError>('/api/notifications/read', { ids: [nobodys], isRead: 'perhaps' }),
      ann.post<ConsoleError>('/api/notifications/read-all', { through: 7 }),
    ]);
    for (const { status, body } of refused) {
      assert.deepEqual([status, body.code], [400, 'invalid_body'], JSON.stringify(body));
    }
    const { status, body } = await new ConsoleClient(ann.origin).get('/api/events');
    assert.deepEqual([status, body.code], [401, 'signed_out']);
  });

  test('shows the delivery status of each target: an email refused and retried, a device whose broker is down', async (t) => {
    if (!canRun(t, mosquittoObstacle())) return;
    await mosquitto?.kill();
    const { owner, device } = gateway.line.firstRun as { owner: string; device: { id: string } };
    await installation.json('owner', 'set', owner, '--email', 'ann@example.com', '--email-alerts', 'on');
    smtp.faults.rcpt = 550;
    const send = () => notify(gateway, { title: 'Disk full' });
    await eventually('email alerts are on', 2000, send, ({ body }) => body.warnings.includes('email_send_failed'));
    const [{ id } = { id: '' }] = (await list(ann, 'limit=1')).notifications;
    const look = async (): Promise<{ email: DeliveryEntry; mqtt: DeliveryEntry }> => {
      const { deliveries } = (await ann.get<InboxDetail>(`/api/notifications/${id}`)).body;
      assert.deepEqual(
        deliveries.map(({ channel, target, name }) => ({ channel, target, name })),
        [
          { channel: 'email', target: '', name: 'ann@example.com' },
          { channel: 'mqtt', target: device.id, name: 'First device' },
        ],
      );
      return { email: deliveries[0] as DeliveryEntry, mqtt: deliveries[1] as DeliveryEntry };
    };
    const isRecorded = ({ email: { state } }: Awaited<ReturnType<typeof look>>): boolean => state !== 'sending';
    const { email, mqtt } = await eventually('the first attempt is recorded', 5000, look, isRecorded);
    assert.deepEqual([email.state, email.retries, email.nextAt], ['rejected', 0, null]);
    assert.match(email.error ?? '', /550/);
    assert.ok(!email.error?.includes(serverText));
    assert.ok(email.endedAt);
    assert.deepEqual([mqtt.state, mqtt.endedAt], ['waiting', null]);
    assert.ok(mqtt.nextAt, 'it has the time of the next retry');
    assert.notEqual(mqtt.error, null);

    smtp.resume();
    const retry = (wanted: object) => ann.post<{ count: number }>(`/api/notifications/${id}/retry`, wanted);
    assert.equal((await retry({ channel: 'push' })).body.count, 0, 'nothing was pushed');
    assert.equal((await retry({ channel: 'email', target: device.id })).body.count, 0);
    const unknown = await ann.post<ConsoleError>(`/api/notifications/${id}/retry`, { channel: 'sms' });
    assert.equal(unknown.status, 400);
    const names = channels.map(({ name }) => name).join(', ');
    assert.deepEqual(unknown.body.details, [{ field: 'channel', problem: `must be one of ${names}` }]);
    assert.equal((await retry({ channel: 'email' })).body.count, 1);
    const sent = await eventually('the email is sent', 3000, look, ({ email: { state } }) => state === 'sent');
    assert.deepEqual([sent.email.retries, sent.email.nextAt], [1, null]);
    assert.equal(smtp.emails.length, 1);

    assert.equal((await retry({})).body.count, 1, 'a completed delivery is not repeated');
    await mosquitto?.run();
    await eventually('the message is published', 30_000, look, (now) => now.mqtt.state === 'sent');
    assert.equal(smtp.emails.length, 1);
  });
});

async function readAll(client: ConsoleClient, through: string): Promise<void> {
  assert.equal((await client.post('/api/notifications/read-all', { through })).status, 204);
  assert.deepEqual((await client.post('/api/notifications/read-all/undo', { through })).body, { isUndone: true });
  assert.deepEqual((await client.post('/api/notifications/read-all/undo', { through })).body, { isUndone: false });
  assert.equal((await client.post('/api/notifications/read-all', { through })).status, 204);
}
