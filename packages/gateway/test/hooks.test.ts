// Webhooks of other programs are sent to the address of a hook, which needs neither a key nor our fields.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type LocalGateway, RecordingChannel, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import type { ChannelTarget } from '../src/core/channel.ts';
import { retry } from '../src/core/outcome.ts';
import { createHook, type HookFields, rotateHookToken } from '../src/usecases/hooks.ts';
import { type Hook, StoreUnavailable } from '../src/usecases/ports/index.ts';
import { createDevice, systemEnvironment } from '../src/usecases/registration.ts';

const json = { 'Content-Type': 'application/json' };
const minuteMs = 60_000;

suite('The address of a hook', () => {
  let gateway: LocalGateway;
  let mqtt: RecordingChannel<ChannelTarget>;

  beforeEach(async () => {
    mqtt = new RecordingChannel();
    gateway = await startLocalGateway({ channels: { mqtt } });
  });
  afterEach(async () => {
    await gateway.stop();
    assert.deepEqual(gateway.failures, []);
  });

  async function newHook(fields: Partial<HookFields> = {}): Promise<{ hook: Hook; token: string; url: string }> {
    const { store, ownerId } = gateway;
    const created = await createHook(store, systemEnvironment, { ownerId, name: 'Build server', ...fields });
    return { ...created, url: `${gateway.api}in/${created.token}` };
  }

  async function post(
    url: string,
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = json,
    method = 'POST',
  ) {
    const response = await fetch(url, { method, headers, body });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parseOrNull(text) };
  }

  const stored = async () =>
    (await gateway.store.notifications.list(gateway.ownerId, { limit: 100, after: '' })).notifications;

  const originalOf = async () =>
    gateway.store.notifications.findOriginal(gateway.ownerId, (await stored())[0]?.id ?? '');

  const sentOnce = () =>
    eventually(
      'one message was sent',
      5000,
      () => mqtt.sent.length,
      (count) => count === 1,
    );

  async function onlyStored() {
    const notifications = await stored();
    assert.equal(notifications.length, 1);
    return (notifications[0] as (typeof notifications)[number]).content;
  }

  test('takes any JSON and makes a notification of it', async () => {
    const { url } = await newHook();
    const sent = { title: 'Disk full', text: '/var is at 98 %', level: 'warning', link: 'https://example.com/disk' };
    const { status, body } = await post(url, JSON.stringify(sent));
    assert.equal(status, 200);
    const content = await onlyStored();
    assert.deepEqual(body, { ok: true, id: (await stored())[0]?.id });
    assert.equal(content.title, 'Disk full');
    assert.equal(content.body, '/var is at 98 %');
    assert.equal(content.severity, 'warning');
    assert.equal(content.source, 'Build server');
    assert.deepEqual(await originalOf(), { event: sent, headers: {} });
    assert.deepEqual(content.data, {});
  });

  const bodies: Record<
    string,
    { body: string | Uint8Array<ArrayBuffer>; headers: Record<string, string>; title: string; text: string }
  > = {
    'an array of events': {
      body: '[{"event":"deploy","name":"shop"}]',
      headers: json,
      title: 'deploy: shop',
      text: '',
    },
    'a form': {
      body: 'subject=Backup&message=done+at+noon',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      title: 'Backup',
      text: 'done at noon',
    },
    'a form that wraps JSON': {
      body: `payload=${encodeURIComponent('{"title":"Pushed","text":"two commits"}')}`,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      title: 'Pushed',
      text: 'two commits',
    },
    'plain text': {
      body: 'Backup done',
      headers: { 'Content-Type': 'text/plain' },
      title: 'Build server',
      text: 'Backup done',
    },
    'text of several lines': {
      body: 'Backup done\n3 files\n2 MB',
      headers: { 'Content-Type': 'text/plain' },
      title: 'Backup done',
      text: '3 files\n2 MB',
    },
    XML: {
      body: '<alert>on</alert>',
      headers: { 'Content-Type': 'application/xml' },
      title: 'Build server',
      text: '<alert>on</alert>',
    },
    'a body without a content type that is JSON': {
      body: new TextEncoder().encode('{"summary":"Ready"}'),
      headers: {},
      title: 'Ready',
      text: '',
    },
    gzip: {
      body: new Uint8Array(gzipSync('{"title":"Packed"}')),
      headers: { ...json, 'Content-Encoding': 'gzip' },
      title: 'Packed',
      text: '',
    },
    'windows-1252 without a charset': {
      body: new Uint8Array(Buffer.from('K\u00e4se', 'latin1')),
      headers: { 'Content-Type': 'text/plain' },
      title: 'Build server',
      text: 'Käse',
    },
    'UTF-16': {
      body: new Uint8Array(Buffer.from('Grüße', 'utf16le')),
      headers: { 'Content-Type': 'text/plain; charset=utf-16le' },
      title: 'Build server',
      text: 'Grüße',
    },
  };
  for (const [name, { body, headers, title, text }] of Object.entries(bodies)) {
    test(`takes ${name}`, async () => {
      const { url } = await newHook();
      assert.equal((await post(url, body, headers)).status, 200);
      const content = await onlyStored();
      assert.equal(content.title, title);
      assert.equal(content.body, text);
    });
  }

  test('takes multipart, and drops files but names them', async () => {
    const { url } = await newHook();
    const form = new FormData();
    form.set('payload', '{"event":"media.play","title":"A film"}');
    form.set('thumb', new Blob(['…']), 'thumb.jpg');
    const response = await fetch(url, { method: 'POST', body: form });
    assert.equal(response.status, 200);
    assert.deepEqual(((await response.json()) as { warnings: string[] }).warnings, ['file_dropped:thumb.jpg']);
    assert.equal((await onlyStored()).title, 'A film');
  });

  test('keeps JSON that is nested too deeply as text', async () => {
    const { url } = await newHook();
    const deep = `${'['.repeat(100)}${']'.repeat(100)}`;
    assert.equal((await post(url, deep)).status, 200);
    assert.equal((await originalOf())?.event, deep);
  });

  test('accepts PUT and anything after the token', async () => {
    const { url } = await newHook();
    assert.equal((await post(`${url}/v2/alerts?x=1`, '{"title":"a"}', json, 'PUT')).status, 200);
  });

  test('refuses an empty body, other methods, and what is over 1 MiB', async () => {
    const { url } = await newHook();
    assert.equal((await post(url, '')).status, 400);
    assert.equal((await fetch(url)).status, 405);
    assert.equal((await fetch(url, { method: 'DELETE' })).status, 405);
    assert.equal((await post(url, 'x'.repeat(1024 * 1024 + 1))).status, 413);
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(8 * 1024 * 1024)));
    assert.equal((await post(url, bomb, { 'Content-Encoding': 'gzip' })).status, 413);
    assert.equal((await post(url, 'no gzip', { 'Content-Encoding': 'gzip' })).status, 400);
    assert.equal((await stored()).length, 0);
  });

  test('takes a body of exactly 1 MiB, and keeps it whole', async () => {
    const { url } = await newHook();
    const text = 'x'.repeat(1024 * 1024);
    assert.equal((await post(url, text, { 'Content-Type': 'text/plain' })).status, 200);
    const content = await onlyStored();
    assert.equal((await originalOf())?.event, text);
    assert.equal(content.body.length, 2000);
  });

  test('answers unknown, mistyped, disabled and deleted tokens alike', async () => {
    const { hook, token, url } = await newHook();
    const mistyped = `${gateway.api}in/${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`;
    const unknown = `${gateway.api}in/hook_000000000000000000000000000000004Gq0M2`;
    await gateway.store.hooks.change(hook.id, (before) => ({ ...before, disabledAt: 1 }));
    const answers = [];
    for (const address of [mistyped, unknown, url, `${gateway.api}in/`, `${gateway.api}in/x`]) {
      const { status, body } = await post(address, '{"title":"a"}');
      assert.equal(status, 404, address);
      const { requestId, timestamp, ...rest } = body as Record<string, unknown>;
      assert.ok(requestId && timestamp);
      answers.push(JSON.stringify(rest));
    }
    await gateway.store.hooks.delete(hook.id);
    assert.equal((await post(url, '{"title":"a"}')).status, 404);
    assert.equal(new Set(answers).size, 1);
    assert.ok(!answers[0]?.includes('hook_'));
  });

  test('keeps its old token for a while after it was rotated', async () => {
    const { hook, url } = await newHook();
    const rotated = await rotateHookToken(
      gateway.store,
      { ...systemEnvironment, now: () => gateway.clock.now },
      hook.id,
      minuteMs,
    );
    const newUrl = `${gateway.api}in/${rotated?.token}`;
    assert.equal((await post(url, '{"title":"old"}')).status, 200);
    assert.equal((await post(newUrl, '{"title":"new"}')).status, 200);
    gateway.clock.now += minuteMs + 1;
    assert.equal((await post(url, '{"title":"old again"}')).status, 404);
    assert.equal((await post(newUrl, '{"title":"new again"}')).status, 200);
  });

  test('counts a repeated delivery id once, but not with another body', async () => {
    const { url } = await newHook();
    const headers = { ...json, 'X-GitHub-Delivery': 'd1' };
    const first = await post(url, '{"title":"a"}', headers);
    gateway.clock.now += 10 * minuteMs;
    const second = await post(url, '{"title":"a"}', headers);
    assert.deepEqual(second.body, { ...(first.body as object), repeated: true });
    assert.equal((await post(url, '{"title":"b"}', headers)).status, 200);
    assert.deepEqual(
      (await stored()).map(({ content }) => content.title),
      ['a', 'b'],
    );
  });

  test('counts an identical body without a delivery id once within two minutes', async () => {
    const { url } = await newHook();
    const other = await newHook();
    await post(url, '{"title":"a"}');
    gateway.clock.now += minuteMs;
    assert.equal((await post(url, '{"title":"a"}')).status, 200);
    assert.equal((await stored()).length, 1);
    await post(other.url, '{"title":"a"}');
    assert.equal((await stored()).length, 2);
    gateway.clock.now += minuteMs + 1;
    await post(url, '{"title":"a"}');
    assert.equal((await stored()).length, 3);
  });

  test('responds once the event is stored, and delivers it afterwards', async () => {
    const { store, ownerId } = gateway;
    await createDevice(store, systemEnvironment, { ownerId, name: 'Phone', topicPrefix: 'tocsin', urls: [] });
    const sending = Promise.withResolvers<void>();
    const send = mqtt.send.bind(mqtt);
    mqtt.send = async (...args) => {
      await sending.promise;
      return send(...args);
    };
    const { url } = await newHook();
    assert.equal((await post(url, '{"title":"a"}')).status, 200);
    assert.equal((await stored()).length, 1);
    assert.equal(mqtt.sent.length, 0);
    sending.resolve();
    await sentOnce();
    assert.equal(mqtt.sent[0]?.notification.content.title, 'a');
  });

  test('does not send to a channel that the hook disables', async () => {
    const { store, ownerId } = gateway;
    await createDevice(store, systemEnvironment, { ownerId, name: 'Phone', topicPrefix: 'tocsin', urls: [] });
    const { url } = await newHook({ disabledChannels: ['mqtt'] });
    const { url: other } = await newHook();
    await post(url, '{"title":"quiet"}');
    await post(other, '{"title":"loud"}');
    await sentOnce();
    assert.equal(mqtt.sent[0]?.notification.content.title, 'loud');
  });

  test('uses the severity of the hook for events that have none', async () => {
    const { url } = await newHook({ severity: 'error' });
    await post(url, '{"title":"a"}');
    assert.equal((await onlyStored()).severity, 'error');
  });

  test('is 503 with Retry-After while the event cannot be stored, sends nothing, and accepts the repeat', async () => {
    const { store, ownerId } = gateway;
    await createDevice(store, systemEnvironment, { ownerId, name: 'Phone', topicPrefix: 'tocsin', urls: [] });
    const { url } = await newHook();
    const { save } = store.notifications;
    store.notifications.save = async () => {
      throw new StoreUnavailable('down');
    };
    const refused = await post(url, '{"title":"a"}');
    assert.equal(refused.status, 503);
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
    store.notifications.save = save;
    assert.equal((await post(url, '{"title":"a"}')).status, 200);
    await sentOnce();
    assert.equal((await stored()).length, 1);
  });

  test('is 503, and never 401 or 429, over the rate limit of the hook', async () => {
    const { url } = await newHook({ rateLimit: { requests: 1, seconds: 60 } });
    assert.equal((await post(url, '{"title":"a"}')).status, 200);
    const over = await post(url, '{"title":"b"}');
    assert.equal(over.status, 503);
    assert.match(over.headers.get('retry-after') ?? '', /^\d+$/);
    assert.equal((over.body as { code: string }).code, 'service_unavailable');
  });

  test('refuses everything if the hook has a secret that its preset cannot check', async () => {
    const { url } = await newHook({ secret: 'a secret' });
    const { status, body } = await post(url, '{"title":"a"}');
    assert.equal(status, 401);
    assert.equal((body as { code: string }).code, 'invalid_signature');
    assert.equal((await stored()).length, 0);
  });

  test('accepts GET only where the owner allows it', async () => {
    const { url } = await newHook({ allowsGet: true });
    const response = await fetch(`${url}?title=Door&body=open&severity=warning`);
    assert.equal(response.status, 200);
    const content = await onlyStored();
    assert.deepEqual([content.title, content.body, content.severity], ['Door', 'open', 'warning']);
  });

  test('permits a sender of CloudEvents that asks before it sends', async () => {
    const { url } = await newHook({ rateLimit: { requests: 5, seconds: 30 } });
    const headers = { 'WebHook-Request-Origin': 'events.example.com', 'WebHook-Request-Rate': '120' };
    const response = await fetch(url, { method: 'OPTIONS', headers });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('webhook-allowed-origin'), 'events.example.com');
    assert.equal(response.headers.get('webhook-allowed-rate'), '10');
    assert.equal(response.headers.get('allow'), 'POST, PUT');
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
    const unlimited = await fetch((await newHook()).url, { method: 'OPTIONS', headers });
    assert.equal(unlimited.headers.get('webhook-allowed-rate'), '*');
    const unknown = await fetch(`${gateway.api}in/x`, { method: 'OPTIONS', headers });
    assert.equal(unknown.status, 404);
    assert.equal(unknown.headers.get('webhook-allowed-origin'), null);
    assert.equal((await fetch(url, { method: 'OPTIONS' })).status, 405);
    assert.equal((await stored()).length, 0);
  });

  test('responds to senders of chat messages as the chat does', async () => {
    const { url } = await newHook();
    const slack = await post(url, '{"text":"Backup done","username":"nas"}');
    assert.deepEqual([slack.status, slack.text, slack.headers.get('content-type')], [200, 'ok', 'text/plain']);
    const challenge = await post(url, '{"type":"url_verification","challenge":"3eZbrw1a"}', {
      ...json,
      'X-Slack-Signature': 'v0=0',
    });
    assert.deepEqual([challenge.status, challenge.text], [200, '3eZbrw1a']);
    const discord = await post(url, '{"content":"Disk is full"}');
    assert.deepEqual([discord.status, discord.text], [204, '']);
    const waiting = await post(`${url}?wait=true`, '{"content":"Disk is empty"}');
    assert.equal(waiting.status, 200);
    assert.equal(typeof (waiting.body as { id: string }).id, 'string');
    const teams = await post(url, '{"@type":"MessageCard","title":"Build failed"}');
    assert.deepEqual([teams.status, teams.text, teams.headers.get('content-type')], [200, '1', 'text/plain']);
    assert.deepEqual(
      (await stored()).map(({ content }) => [content.title, content.source]),
      [
        ['Backup done', 'nas'],
        ['Disk is full', 'Build server'],
        ['Disk is empty', 'Build server'],
        ['Build failed', 'Build server'],
      ],
    );
  });

  test('responds to senders of alerts as PagerDuty and Opsgenie do, and takes the alias from the path', async () => {
    const { url } = await newHook();
    const trigger = {
      routing_key: 'R0',
      event_action: 'trigger',
      dedup_key: 'db1',
      payload: { summary: 'db1 is down' },
    };
    const triggered = await post(`${url}/v2/enqueue`, JSON.stringify(trigger));
    const expected = { status: 'success', message: 'Event processed', dedup_key: 'db1' };
    assert.deepEqual([triggered.status, triggered.body], [202, expected]);
    assert.equal((await post(`${url}/v2/alerts`, '{"message":"nas is full","alias":"nas"}')).status, 202);
    const closed = await post(`${url}/v2/alerts/nas/close?identifierType=alias`, '{"source":"probe"}');
    assert.deepEqual([closed.status, closed.headers.get('content-type')], [202, 'application/json']);
    assert.deepEqual(
      (await stored()).map(({ content }) => [content.title, content.severity]),
      [
        ['db1 is down', 'error'],
        ['nas is full', 'warning'],
        ['Closed: nas', 'info'],
      ],
    );
  });

  test('says to Prometheus that only Alertmanager can use the address', async () => {
    const { url } = await newHook();
    const alerts = '[{"labels":{"alertname":"InstanceDown"},"startsAt":"2026-03-01T10:00:00Z"}]';
    for (const version of ['v1', 'v2']) {
      const response = await post(`${url}/api/${version}/alerts`, alerts);
      assert.equal(response.status, 404);
      assert.match(response.text, /webhook receiver of Alertmanager/);
    }
    assert.equal((await stored()).length, 0);
  });

  test('accepts the parameters of a GET request of Uptime Kuma', async () => {
    const { url } = await newHook({ allowsGet: true });
    const query = new URLSearchParams({
      msg: '[Shop] [Down] timeout',
      heartbeat: '{"monitorID":3,"status":0,"msg":"timeout"}',
      monitor: '{"id":3,"name":"Shop","url":"https://user:password@shop.example.com"}',
    });
    assert.equal((await fetch(`${url}?${query}`)).status, 200);
    const [notification] = await stored();
    const { title, body, severity, source } = notification?.content ?? {};
    assert.deepEqual([title, body, severity, source], ['Shop is down', 'timeout', 'error', 'uptime-kuma']);
  });

  test('accepts only signed requests if it has a secret that its preset can check', async () => {
    const { url } = await newHook({ preset: 'slack', secret: 'a secret' });
    const seconds = String(Math.floor(gateway.clock.now / 1000));
    const body = '{"text":"signed"}';
    const signature = createHmac('sha256', 'a secret').update(`v0:${seconds}:${body}`).digest('hex');
    const headers = { ...json, 'X-Slack-Request-Timestamp': seconds, 'X-Slack-Signature': `v0=${signature}` };
    assert.equal((await post(url, body, headers)).status, 200);
    assert.equal((await post(url, body)).status, 401);
    assert.equal((await post(url, '{"text":"changed"}', headers)).status, 401);
    gateway.clock.now += 6 * minuteMs;
    assert.equal((await post(url, body, headers)).status, 401);
    assert.equal((await stored()).length, 1);
  });

  test('does not repeat its token in any response, and sends no referrer', async () => {
    const { url, token } = await newHook();
    for (const [body, headers] of [
      ['{"title":"a"}', json],
      ['', json],
      ['x', { 'Content-Encoding': 'zz' }],
    ] as const) {
      const { text, headers: responseHeaders } = await post(url, body, headers);
      assert.ok(!text.includes(token));
      assert.equal(responseHeaders.get('referrer-policy'), 'no-referrer');
    }
  });

  test('delivers again what its process did not, as with any notification', async () => {
    const { store, ownerId } = gateway;
    await createDevice(store, systemEnvironment, { ownerId, name: 'Phone', topicPrefix: 'tocsin', urls: [] });
    mqtt.send = async (_notification, targets) => targets.map(() => retry('deferred', 'down'));
    const { url } = await newHook();
    await post(url, '{"title":"a"}');
    await eventually(
      'the delivery waits for a retry',
      5000,
      async () => (await store.deliveries.list({ ownerId, limit: 10 })).map(({ state }) => state),
      (states) => states.join() === 'waiting',
    );
  });
});

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
