// Devices, keys and push targets as their owners manage them in the console, against the running service.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, suite, type TestContext, test } from 'node:test';
import type {
  ConsoleError,
  CreatedKeyEntry,
  DeviceEntry,
  DeviceWithSettings,
  InboxListing,
  KeyEntry,
  MqttSettings,
  NewKey,
  PushTargetEntry,
  SessionInfo,
  TestResult,
} from '@tocsin/contract/console';
import { ConsoleClient, signInAs, signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { WebPushStandIn } from '@tocsin/test-support/push-web-push-stand-in.ts';
import { notify, signedHeaders } from '@tocsin/test-support/requests.ts';
import { createTestAuthority, type TestAuthority } from '@tocsin/test-support/tls-ca.ts';
import { connectAsync, type MqttClient } from 'mqtt';

const markup = '<img src=x onerror=alert(1)>"\'`{{7*7}}';
const never = 'dev_0000000000000000';

suite('In the console', () => {
  let authority: TestAuthority;
  let pushServer: Server;
  let browsers: WebPushStandIn;
  let installation: Installation;
  let gateway: GatewayProcess;
  let ann: ConsoleClient;
  let ben: ConsoleClient;

  before(async () => {
    authority = createTestAuthority();
    const { key, cert } = authority.issue('DNS:localhost');
    pushServer = createServer({ key, cert }, async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
      const headers = request.headers as Record<string, string>;
      const url = new URL(`https://${headers.host}${request.url}`);
      const { status } = await browsers.dial(url, { headers, body }, AbortSignal.timeout(5000));
      response.writeHead(status).end();
    }).listen(0, '127.0.0.1');
    await once(pushServer, 'listening');
    installation = await Installation.create({
      NODE_EXTRA_CA_CERTS: authority.caFile,
      TOCSIN_WEBPUSH_HOSTS: pushHost(),
      TOCSIN_MQTT_CUSTOM_ALLOW: '127.0.0.1/32',
    });
    gateway = await installation.serve();
    ann = await signInAtFirstRun(gateway);
    const { id } = await installation.json('owner', 'create', '--name', 'Ben');
    ben = await signInAs(installation, gateway, id as string);
    const { body } = await ann.get<SessionInfo>('/api/session');
    browsers = new WebPushStandIn({ now: Date.now() }, body.service.webPushKey);
  });
  after(async () => {
    await installation.remove();
    pushServer.closeAllConnections();
    pushServer.close();
    authority.remove();
  });

  const pushHost = (): string => `localhost:${(pushServer.address() as AddressInfo).port}`;

  async function makeDevice(client = ann, name = 'Phone'): Promise<DeviceWithSettings> {
    const { status, body } = await client.post<DeviceWithSettings>('/api/devices', { name });
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }

  async function deviceOf(client: ConsoleClient, id: string): Promise<DeviceEntry | undefined> {
    const { body } = await client.get<{ devices: DeviceEntry[] }>('/api/devices');
    return body.devices.find((device) => device.id === id);
  }

  async function makeKey(wanted: Partial<NewKey> = {}): Promise<CreatedKeyEntry> {
    const { status, body } = await ann.post<CreatedKeyEntry>('/api/keys', { ...plainKey, ...wanted });
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }

  async function connect(t: TestContext, { username, password, urls }: MqttSettings, scheme = 'mqtt:') {
    const url = urls.find((each) => each.startsWith(scheme));
    assert.ok(url, `no address begins with ${scheme} in ${urls}`);
    const client = await connectAsync(url, { username, password, reconnectPeriod: 0, clientId: 'phone' });
    t.after(() => client.endAsync(true));
    return client;
  }

  async function listen(client: MqttClient, topic: string): Promise<() => Promise<{ title: string; id: string }>> {
    await client.subscribeAsync(topic, { qos: 1 });
    return async () => {
      const [, payload] = (await nextEvent(client, 'message')) as [string, Buffer];
      return JSON.parse(payload.toString()) as { title: string; id: string };
    };
  }

  test('a new device receives with its settings over TCP and WebSocket', async (t) => {
    const { device, mqtt } = await makeDevice(ann, markup);
    const { topic } = mqtt;
    assert.deepEqual(device, { ...device, name: markup, state: 'active', paused: false, seenAt: null, topic });
    assert.deepEqual(await deviceOf(ann, device.id), device);
    const receive = async (scheme: string): Promise<void> => {
      const client = await connect(t, mqtt, scheme);
      const next = await listen(client, mqtt.topic);
      const [message, { body }] = await Promise.all([next(), notify(gateway, { title: scheme, deviceId: device.id })]);
      assert.deepEqual([message.title, message.id], [scheme, body.id]);
      await client.endAsync();
    };
    await receive('mqtt:');
    await receive('ws:');
    assert.equal(JSON.stringify(await ann.get('/api/devices')).includes(mqtt.password), false);
  });

  test('a device shows when it was last connected', async (t) => {
    const { device, mqtt } = await makeDevice();
    const begin = Date.now();
    // It disconnects before the page is read.
    await (await connect(t, mqtt)).endAsync();
    const seen = await eventually(
      'it was seen',
      5000,
      () => deviceOf(ann, device.id),
      (found) => found?.seenAt !== null,
    );
    assert.ok((seen?.seenAt as number) >= begin && (seen?.seenAt as number) <= Date.now());
  });

  test('a new password closes the connection with the old one, which is refused from then on', async (t) => {
    const { device, mqtt } = await makeDevice();
    const client = await connect(t, mqtt);
    const closed = nextEvent(client, 'close');
    const { status, body } = await ann.post<DeviceWithSettings>(`/api/devices/${device.id}/password`);
    assert.equal(status, 200);
    assert.deepEqual(body.mqtt, { ...mqtt, password: body.mqtt.password });
    assert.notEqual(body.mqtt.password, mqtt.password);
    await closed;
    await assert.rejects(connect(t, mqtt), /Not authorized/);
    await connect(t, body.mqtt);
  });

  test('a device is renamed, paused, resumed, deactivated, activated and deleted', async () => {
    const { device } = await makeDevice();
    const change = async (verb: string, body?: object): Promise<DeviceEntry> => {
      const answer = await ann.post<DeviceEntry>(`/api/devices/${device.id}/${verb}`, body);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    };
    assert.deepEqual(await change('rename', { name: '  Tablet  ' }), { ...device, name: 'Tablet' });
    assert.equal((await change('pause')).paused, true);
    assert.equal((await change('resume')).paused, false);
    assert.equal((await change('deactivate')).state, 'inactive');
    assert.deepEqual(await change('activate'), { ...device, name: 'Tablet' });
    assert.deepEqual(await deviceOf(ann, device.id), { ...device, name: 'Tablet' });
    assert.equal((await ann.delete(`/api/devices/${device.id}`)).status, 204);
    assert.equal(await deviceOf(ann, device.id), undefined);
    assert.equal((await ann.delete(`/api/devices/${device.id}`)).status, 404);
  });

  test('a test send reaches the device and the inbox; for a paused or inactive device a remedy is named', async (t) => {
    const { device, mqtt } = await makeDevice();
    const next = await listen(await connect(t, mqtt), mqtt.topic);
    const [message, { status, body }] = await Promise.all([
      next(),
      ann.post<TestResult>(`/api/devices/${device.id}/test`),
    ]);
    assert.deepEqual(
      { status, body },
      { status: 200, body: { isSent: true, state: 'delivered', notificationId: message.id, error: null } },
    );
    const inbox = await ann.get<InboxListing>('/api/notifications?limit=1');
    assert.equal(inbox.body.notifications[0]?.id, message.id);
    assert.equal(inbox.body.notifications[0]?.title, 'Test from Tocsin');
    for (const [verb, remedy] of [
      ['pause', /paused.*Resume it/],
      ['deactivate', /inactive.*Activate it/],
    ] as const) {
      await ann.post(`/api/devices/${device.id}/${verb}`);
      const refused = await ann.post<ConsoleError>(`/api/devices/${device.id}/test`);
      assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
      assert.match(refused.body.error, remedy);
    }
  });

  test('a new key authenticates its caller within its restrictions until it is revoked', async () => {
    const { key, value } = await makeKey({
      label: markup,
      allowedDomains: ['https://Shop.Example/', '*.a.example:8080'],
    });
    assert.deepEqual(key.allowedDomains, ['shop.example', '*.a.example:8080']);
    const from = (origin: string) => notify({ api: gateway.api, key: value }, { title: 'x' }, { Origin: origin });
    assert.equal((await from('https://shop.example')).status, 200);
    assert.equal((await from('https://evil.example')).body.code, 'origin_not_allowed');
    const { status, body } = await ann.delete<KeyEntry>(`/api/keys/${key.id}`);
    assert.equal(status, 200);
    assert.deepEqual(body, { ...key, revokedAt: body.revokedAt });
    await eventually(
      'the key is refused',
      2000,
      () => from('https://shop.example'),
      (answer) => answer.body.code === 'invalid_api_key',
    );
    const listed = await ann.get<{ keys: KeyEntry[] }>('/api/keys');
    assert.deepEqual(
      listed.body.keys.find(({ id }) => id === key.id),
      body,
    );
    assert.equal(JSON.stringify(listed.body).includes(value), false);
  });

  test('a key can require signatures, have a rate limit, and expire', async () => {
    const wanted = { type: 'internal_service', requireSignature: true, rateLimit: '2/h' } as const;
    const { key, value } = await makeKey({ ...wanted, expiresAt: Date.now() + 3_600_000 });
    assert.deepEqual(key, { ...key, ...wanted, label: null });
    const caller = { api: gateway.api, key: value };
    assert.equal((await notify(caller, { title: 'x' })).body.code, 'invalid_signature');
    const send = (title: string) => {
      const body = JSON.stringify({ title });
      return notify(caller, body, signedHeaders(value, body));
    };
    assert.deepEqual([(await send('a')).status, (await send('b')).status, (await send('c')).status], [200, 200, 429]);
    const { value: short } = await makeKey({ expiresAt: Date.now() + 700 });
    await eventually(
      'the key has expired',
      3000,
      () => notify({ api: gateway.api, key: short }, { title: 'x' }),
      ({ status }) => status === 401,
    );
  });

  test('the problems of a key are reported field by field', async () => {
    const wrong = {
      type: 'site_server',
      label: 'x'.repeat(101),
      allowedDomains: ['good.example', 'no domain', 7, 'domain!!'],
      requireSignature: 'yes',
      rateLimit: '100 per minute',
      expiresAt: Date.now() - 1,
    };
    const { status, body } = await ann.post<ConsoleError>('/api/keys', wrong);
    assert.deepEqual([status, body.code], [400, 'invalid_body']);
    assert.deepEqual(
      body.details?.map(({ field }) => field),
      [
        'type',
        'label',
        'allowedDomains[1]',
        'allowedDomains[2]',
        'allowedDomains[3]',
        'requireSignature',
        'rateLimit',
        'expiresAt',
      ],
    );
  });

  test('a subscribed browser receives push and finds itself in the list by the digest of its endpoint', async () => {
    const subscription = JSON.parse(browsers.subscribe(`https://${pushHost()}`)) as { endpoint: string };
    const subscribe = (label: string) => ann.post<PushTargetEntry>('/api/push-targets', { label, subscription });
    const { status, body: first } = await subscribe(markup);
    assert.equal(status, 201, JSON.stringify(first));
    const digest = createHash('sha256').update(subscription.endpoint).digest('base64url');
    assert.deepEqual(first, { ...first, provider: 'webpush', label: markup, disabledAt: null, endpointDigest: digest });

    const again = await Promise.all([subscribe('Again'), subscribe('Again'), subscribe('Again')]);
    const listed = await ann.get<{ pushTargets: PushTargetEntry[] }>('/api/push-targets');
    const [target, ...more] = listed.body.pushTargets;
    assert.deepEqual(more, [], 'one endpoint, one target');
    assert.equal(target?.label, 'Again');
    assert.ok(again.every((answer) => answer.status === 201));
    assert.equal(JSON.stringify(listed.body).includes(subscription.endpoint), false);

    const { body } = await ann.post<TestResult>(`/api/push-targets/${target?.id}/test`);
    assert.equal(body.isSent, true, JSON.stringify(body));
    assert.deepEqual(
      browsers.received.map(({ text }) => (JSON.parse(text) as { title: string }).title),
      ['Test from Tocsin'],
    );
    browsers.reply = () => ({ status: 503 });
    const failed = await ann.post<TestResult>(`/api/push-targets/${target?.id}/test`);
    assert.equal(failed.body.isSent, false);
    assert.match(failed.body.error ?? '', /503.*It will be retried/);
    browsers.reply = () => ({ status: 410 });
    const gone = await ann.post<TestResult>(`/api/push-targets/${target?.id}/test`);
    assert.equal(gone.body.isSent, false);
    assert.ok(gone.body.error);
    browsers.reply = () => undefined;
    await eventually(
      'the list shows the subscription as expired',
      2000,
      () => ann.get<{ pushTargets: PushTargetEntry[] }>('/api/push-targets'),
      (answer) => answer.body.pushTargets[0]?.disabledAt !== null,
    );
    const dead = await ann.post<ConsoleError>(`/api/push-targets/${target?.id}/test`);
    assert.deepEqual([dead.status, dead.body.code], [409, 'conflict']);
    assert.equal((await ann.delete(`/api/push-targets/${target?.id}`)).status, 204);
    assert.deepEqual((await ann.get('/api/push-targets')).body, { pushTargets: [] });
  });

  test('subscriptions at other hosts and invalid ones are refused', async () => {
    const elsewhere = JSON.parse(browsers.subscribe('https://internal.example')) as object;
    for (const subscription of [elsewhere, { endpoint: 'https://fcm.googleapis.com/x' }, 'x', null, undefined]) {
      const { status, body } = await ann.post<ConsoleError>('/api/push-targets', { label: 'x', subscription });
      assert.deepEqual([status, body.code, body.details?.[0]?.field], [400, 'invalid_body', 'subscription']);
    }
    for (const body of [null, [], 'text', 7]) {
      for (const path of ['/api/devices', '/api/keys', '/api/push-targets', '/api/preferences/email']) {
        assert.equal((await ann.post(path, body)).status, 400, `${path} ${JSON.stringify(body)}`);
      }
    }
    for (const name of ['', '   ', 'x'.repeat(201), 7, null]) {
      assert.equal((await ann.post('/api/devices', { name })).status, 400);
    }
  });

  test('ids of another owner are not found, like ids that never existed', async () => {
    const { device } = await makeDevice(ben, "Ben's phone");
    const subscription = JSON.parse(browsers.subscribe(`https://${pushHost()}`)) as object;
    const target = await ben.post<PushTargetEntry>('/api/push-targets', { label: 'x', subscription });
    const key = await ben.post<CreatedKeyEntry>('/api/keys', plainKey);
    const verbs = ['password', 'rename', 'pause', 'resume', 'activate', 'deactivate', 'test'];
    const routes = (deviceId: string, targetId: string, keyId: string): [string, string][] => [
      ...verbs.map((verb): [string, string] => ['POST', `/api/devices/${deviceId}/${verb}`]),
      ['DELETE', `/api/devices/${deviceId}`],
      ['DELETE', `/api/push-targets/${targetId}`],
      ['POST', `/api/push-targets/${targetId}/test`],
      ['DELETE', `/api/keys/${keyId}`],
    ];
    const ask = async (list: [string, string][]) => {
      const answers = [];
      for (const [method, path] of list) {
        const { status, body } = await ann.ask(method, path, method === 'POST' ? { name: 'Taken' } : undefined);
        answers.push({ method, status, body });
      }
      return answers;
    };
    const others = await ask(routes(device.id, target.body.id, key.body.key.id));
    assert.ok(others.every(({ status }) => status === 404));
    assert.deepEqual(others, await ask(routes(never, 'psh_0000000000000000', 'key_0000000000000000')));
    for (const { status, body } of await ask(routes('%00', '%00', '%00'))) {
      assert.deepEqual([status, body.code], [404, 'not_found'], 'nor are malformed ids');
    }
    assert.deepEqual(await deviceOf(ben, device.id), device);
    assert.equal((await ben.get<{ pushTargets: unknown[] }>('/api/push-targets')).body.pushTargets.length, 1);
    assert.equal((await notify({ api: gateway.api, key: key.body.value }, { title: 'still there' })).status, 200);
    assert.equal((await new ConsoleClient(gateway.line.console).get('/api/devices')).status, 401);
  });

  test('test sends are rate limited', async () => {
    const { device } = await makeDevice(ben);
    const statuses: number[] = [];
    for (let count = 0; count < 11; count += 1) {
      statuses.push((await ben.post(`/api/devices/${device.id}/test`)).status);
    }
    assert.deepEqual(statuses, [...Array(10).fill(200), 429]);
  });

  test('without an SMTP server an address applies immediately, and routes that need one report that', async () => {
    const change = (client: ConsoleClient, email: string | null) =>
      client.post<ConsoleError>('/api/preferences/email', { email });
    const { status, body } = await change(ben, ' ben@example.com ');
    assert.deepEqual({ status, body }, { status: 200, body: { email: 'ben@example.com', confirmation: false } });
    const session = await ben.get<SessionInfo>('/api/session');
    assert.equal(session.body.owner.email, 'ben@example.com');
    assert.equal((await change(ann, 'BEN@example.com')).status, 409, 'the address is his');
    assert.equal((await change(ben, 'Ben@example.com')).status, 200);
    for (const refused of [
      await ben.post<ConsoleError>('/api/preferences/test-mail'),
      await ann.post<ConsoleError>(`/api/operator/owners/${session.body.owner.id}/invite`),
    ]) {
      assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
      assert.match(refused.body.error, /no SMTP server.*TOCSIN_SMTP_URL/);
    }
    for (const email of ['ben', 'a@b, c@d', 'Ben <ben@example.com>', 'x\r\nBcc: a@b', 7]) {
      assert.equal((await ben.post('/api/preferences/email', { email })).status, 400, String(email));
    }
  });

  test('no secret that is shown once is in the log', async () => {
    const { mqtt } = await makeDevice();
    const { value } = await makeKey();
    for (const secret of [mqtt.password, value]) assert.equal(gateway.log.includes(secret), false);
  });
});

function nextEvent(client: MqttClient, name: string): Promise<unknown[]> {
  return once(client as unknown as NodeJS.EventEmitter, name, { signal: AbortSignal.timeout(5000) });
}

const plainKey: NewKey = {
  type: 'public_client',
  label: null,
  allowedDomains: [],
  requireSignature: false,
  rateLimit: null,
  expiresAt: null,
};
