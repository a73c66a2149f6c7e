// Programs that can send to a server of ntfy, Gotify or the Apprise API send to Tocsin by changing the address.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type LocalGateway, RecordingChannel, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import { rawRequest } from '@tocsin/test-support/raw-request.ts';
import type { ChannelTarget } from '../src/core/channel.ts';
import { createHook, type HookFields } from '../src/usecases/hooks.ts';
import { StoreUnavailable } from '../src/usecases/ports/index.ts';
import { createDevice, systemEnvironment } from '../src/usecases/registration.ts';

type Headers = Record<string, string>;

let gateway: LocalGateway;
let mqtt: RecordingChannel<ChannelTarget>;

beforeEach(async () => {
  mqtt = new RecordingChannel();
  gateway = await startLocalGateway({ channels: { mqtt } });
  const { store, ownerId } = gateway;
  await createDevice(store, systemEnvironment, { ownerId, name: 'Phone', topicPrefix: 'tocsin', urls: [] });
});
afterEach(async () => {
  await gateway.stop();
  assert.deepEqual(gateway.failures, []);
});

async function newHook(fields: Partial<HookFields> = {}): Promise<string> {
  const { store, ownerId } = gateway;
  const { token } = await createHook(store, systemEnvironment, { ownerId, name: 'Build server', ...fields });
  return `${gateway.api}in/${token}`;
}

interface Sent {
  method?: string;
  headers?: Headers;
  body?: string | Uint8Array<ArrayBuffer> | FormData;
}

async function send(url: string, { method = 'POST', ...sent }: Sent = {}) {
  const response = await fetch(url, { method, ...sent });
  const text = await response.text();
  const body = text === '' ? null : (JSON.parse(text) as Record<string, unknown>);
  return { status: response.status, headers: response.headers, body };
}

const stored = async () =>
  (await gateway.store.notifications.list(gateway.ownerId, { limit: 100, after: '' })).notifications;

async function onlyStored() {
  const [first, ...others] = await stored();
  assert.ok(first !== undefined && others.length === 0, 'exactly one notification is stored');
  return { id: first.id, ...first.content };
}

async function originalOf() {
  return (await gateway.store.notifications.findOriginal(gateway.ownerId, (await onlyStored()).id))?.event;
}

const bearer = () => ({ Authorization: `Bearer ${gateway.key}` });
const basic = (name: string, password: string) => ({ Authorization: `Basic ${btoa(`${name}:${password}`)}` });

const places: Record<string, () => Promise<{ base: string; headers: Headers }>> = {
  'below a hook': async () => ({ base: await newHook(), headers: {} }),
  'below a hook, with the prefix': async () => ({ base: `${await newHook()}/ntfy`, headers: {} }),
  'at the root with a key': async () => ({ base: gateway.api.slice(0, -1), headers: bearer() }),
  'at the root with a key and the prefix': async () => ({ base: `${gateway.api}ntfy`, headers: bearer() }),
};

for (const [place, open] of Object.entries(places)) {
  suite(`ntfy ${place}`, () => {
    test('publishes the body, with headers for the rest', async () => {
      const { base, headers } = await open();
      const { status, body } = await send(`${base}/backups`, {
        headers: {
          ...headers,
          Title: 'Disk full',
          Priority: 'high',
          Tags: 'warning,nas',
          Click: 'https://nas.example/',
        },
        body: '/var is at 98 %',
      });
      assert.equal(status, 200);
      const { id, title, body: text, severity, source } = await onlyStored();
      assert.deepEqual([title, text, severity, source], ['⚠️ Disk full', '/var is at 98 %', 'warning', 'backups']);
      const message = {
        topic: 'backups',
        title: 'Disk full',
        message: '/var is at 98 %',
        priority: 4,
        tags: ['warning', 'nas'],
        click: 'https://nas.example/',
      };
      assert.deepEqual(body, { id, time: Math.floor(gateway.clock.now / 1000), event: 'message', ...message });
      assert.deepEqual(await originalOf(), message);
      await eventually(
        'it was sent',
        5000,
        () => mqtt.sent.length,
        (count) => count === 1,
      );
    });

    test('takes PUT, and parameters in the query', async () => {
      const { base, headers } = await open();
      const { status } = await send(`${base}/door?title=Front+door&prio=urgent&tags=door`, {
        method: 'PUT',
        headers,
        body: 'is open',
      });
      assert.equal(status, 200);
      const { title, body, severity } = await onlyStored();
      assert.deepEqual([title, body, severity], ['🚪 Front door', 'is open', 'critical']);
    });

    test('takes a message without a body', async () => {
      const { base, headers } = await open();
      assert.equal((await send(`${base}/door`, { headers: { ...headers, 'X-Message': 'one\\ntwo' } })).status, 200);
      assert.equal((await onlyStored()).body, 'one\ntwo');
      const { body } = await send(`${base}/door`, { headers });
      assert.equal(body?.message, 'triggered');
    });

    test('refuses a message for later, in the shape of ntfy', async () => {
      const { base, headers } = await open();
      const { status, body } = await send(`${base}/door`, { headers: { ...headers, Delay: '30m' }, body: 'later' });
      assert.equal(status, 400);
      assert.deepEqual([body?.code, body?.http], [40004, 400]);
      assert.match(String(body?.error), /scheduled messages are not supported/);
      assert.equal((await stored()).length, 0);
    });

    test('is 503 in the shape of ntfy while nothing can be stored', async () => {
      const { base, headers } = await open();
      gateway.store.notifications.save = async () => {
        throw new StoreUnavailable('down');
      };
      const refused = await send(`${base}/door`, { headers, body: 'open' });
      assert.equal(refused.status, 503);
      assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
      assert.deepEqual([refused.body?.code, refused.body?.http], [50301, 503]);
    });

    test('answers questions about the server and the account', async () => {
      const { base, headers } = await open();
      assert.deepEqual((await send(`${base}/v1/health`, { method: 'GET', headers })).body, { healthy: true });
      const { status, body } = await send(`${base}/v1/account`, { method: 'GET', headers });
      assert.equal(status, 200);
      assert.equal(body?.role, 'user');
      assert.equal(typeof body?.username, 'string');
      const { stats = {} } = body as { stats?: object };
      assert.ok('messages_remaining' in stats);
    });
  });
}

suite('ntfy', () => {
  const severities: [name: string, headers: Headers, expected: string | null][] = [
    ['max', { Priority: '5' }, 'critical'],
    ['high', { 'X-Priority': '4' }, 'warning'],
    ['default', { p: 'default' }, null],
    ['none', {}, null],
    ['low', { Priority: 'LOW' }, 'info'],
    ['high but good', { Priority: '4', Tags: 'green_circle' }, 'info'],
    ['high and bad', { Priority: '4', Tags: 'red_circle' }, 'error'],
    ['bad alone', { Tags: 'skull' }, 'error'],
    ['max and bad', { Priority: '5', Tags: 'rotating_light' }, 'critical'],
    ['of a browser (RFC 9218)', { Priority: 'u=1, i' }, null],
    ['of a browser, and one in Prio', { Priority: 'u=1, i', Prio: '5' }, 'critical'],
  ];
  for (const [name, headers, expected] of severities) {
    test(`gives a message of priority ${name} the severity ${expected}`, async () => {
      const { status } = await send(`${gateway.api}alerts`, { headers: { ...bearer(), ...headers }, body: 'x' });
      assert.equal(status, 200);
      assert.equal((await onlyStored()).severity, expected);
    });
  }

  test('stores a message of low priority without a send', async () => {
    const url = `${gateway.api}alerts`;
    await send(url, { headers: { ...bearer(), Priority: '1' }, body: 'quiet' });
    await send(url, { headers: { ...bearer(), Priority: '3' }, body: 'loud' });
    await eventually(
      'one message was sent',
      5000,
      () => mqtt.sent.map(({ notification }) => notification.content.body),
      (bodies) => bodies.length > 0,
    );
    assert.deepEqual(
      mqtt.sent.map(({ notification }) => notification.content.body),
      ['loud'],
    );
    assert.equal((await stored()).length, 2);
  });

  const titles: Record<string, string> = {
    'raw UTF-8': Buffer.from('Größe 🚀').toString('latin1'),
    'encoded words': '=?utf-8?B?R3LDtsOf?= =?UTF-8?Q?e_=F0=9F=9A=80?=',
    'raw latin1': 'Größe',
  };
  for (const [name, title] of Object.entries(titles)) {
    test(`decodes a title in ${name}`, async () => {
      const head = `POST /t HTTP/1.1\r\nHost: x\r\nX-API-Key: ${gateway.key}\r\nTitle: ${title}\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx`;
      const { status } = await rawRequest(gateway.api, Buffer.from(head, 'latin1'));
      assert.equal(status, 200);
      assert.equal((await onlyStored()).title, name === 'raw latin1' ? 'Größe' : 'Größe 🚀');
    });
  }

  test('takes a body of any type as the message', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'application/json', 'text/plain']) {
      const headers = { ...bearer(), 'Content-Type': type };
      const { body } = await send(`${gateway.api}alerts`, { headers, body: '{"a": "b=c&d"}' });
      assert.equal(body?.message, '{"a": "b=c&d"}', type);
    }
    const headers = { ...bearer(), 'Content-Type': 'application/x-www-form-urlencoded' };
    assert.equal((await send(`${gateway.api}alerts`, { headers, body: 'a=b&c' })).body?.message, 'a=b&c');
  });

  test('keeps a text file as the message, and of any other file its name and size', async () => {
    const url = `${gateway.api}files`;
    const text = await send(url, { headers: { ...bearer(), Filename: 'log.txt', Message: 'The log' }, body: 'line 1' });
    assert.equal(text.body?.message, 'The log\nline 1');
    const picture = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]);
    const file = await send(url, { headers: { ...bearer(), Filename: 'a.png', Message: 'Look' }, body: picture });
    assert.equal(file.body?.message, 'Look\n(file not kept: a.png, 10 bytes)');
  });

  test('takes JSON at the address of a hook', async () => {
    const message = { topic: 'alerts', title: 'Up', message: 'again', priority: 4, tags: ['green_circle'] };
    const url = await newHook();
    const { status, body } = await send(url, { body: JSON.stringify(message) });
    assert.equal(status, 200);
    const { id, title, severity } = await onlyStored();
    assert.deepEqual([title, severity], ['🟢 Up', 'info']);
    assert.deepEqual(body, { id, time: Math.floor(gateway.clock.now / 1000), event: 'message', ...message });
    assert.deepEqual(await originalOf(), message);
    for (const damaged of ['{"topic":"a b","message":"x"}', '{"message":"x"}', 'x']) {
      const refused = await send(`${url}/ntfy`, { body: damaged });
      assert.equal(refused.status, 400, damaged);
      assert.equal(refused.body?.http, 400);
    }
  });

  test('distinguishes events of other programs below a hook from messages', async () => {
    const url = await newHook();
    const { body } = await send(`${url}/github`, { body: '{"title":"Pushed","level":"warning"}' });
    assert.equal(body?.ok, true);
    assert.equal((await onlyStored()).title, 'Pushed');
  });

  test('counts messages with one body and different headers as different', async () => {
    const url = await newHook();
    await send(`${url}/a`, { headers: { Title: 'one' }, body: 'x' });
    await send(`${url}/a`, { headers: { Title: 'two' }, body: 'x' });
    await send(`${url}/a`, { headers: { Title: 'two' }, body: 'x' });
    assert.equal((await stored()).length, 2);
    await send(`${gateway.api}a`, { headers: bearer(), body: 'x' });
    await send(`${gateway.api}a`, { headers: bearer(), body: 'x' });
    assert.equal((await stored()).length, 4);
  });

  test('publishes by GET only where the hook allows it', async () => {
    const allowed = await newHook({ allowsGet: true });
    assert.equal((await send(`${allowed}/door/publish?message=open&title=Door`, { method: 'GET' })).status, 200);
    const { title, body } = await onlyStored();
    assert.deepEqual([title, body], ['Door', 'open']);
    assert.equal((await send(`${await newHook()}/ntfy/door/send?message=open`, { method: 'GET' })).body?.http, 405);
    const atRoot = await send(`${gateway.api}door/publish?message=open`, { method: 'GET', headers: bearer() });
    assert.equal(atRoot.body?.http, 405);
    assert.equal((await stored()).length, 1);
  });
});

suite('A key at the address of a dialect', () => {
  const auth = (value: string) => `auth=${encodeURIComponent(btoa(value).replaceAll('=', ''))}`;
  const ways: Record<string, () => { query?: string; headers?: Headers }> = {
    'as Bearer': () => ({ headers: bearer() }),
    'as the name of Basic': () => ({ headers: basic(gateway.key, '') }),
    'as the password of Basic': () => ({ headers: basic('phil', gateway.key) }),
    'in X-Gotify-Key': () => ({ headers: { 'X-Gotify-Key': gateway.key } }),
    'in X-Gitlab-Token': () => ({ headers: { 'X-Gitlab-Token': gateway.key } }),
    'as Authorization: Token': () => ({ headers: { Authorization: `Token ${gateway.key}` } }),
    'as Authorization: GenieKey': () => ({ headers: { Authorization: `GenieKey ${gateway.key}` } }),
    'in ?token=': () => ({ query: `token=${gateway.key}` }),
    'in ?auth= as Bearer': () => ({ query: auth(`Bearer ${gateway.key}`) }),
    'in ?auth= as Basic': () => ({ query: auth(`Basic ${btoa(`:${gateway.key}`)}`) }),
    'twice, if both are equal': () => ({ query: `token=${gateway.key}`, headers: bearer() }),
  };
  for (const [name, way] of Object.entries(ways)) {
    test(`is accepted ${name}`, async () => {
      const { query = '', headers = {} } = way();
      assert.equal((await send(`${gateway.api}alerts?${query}`, { headers, body: 'x' })).status, 200);
      const atContract = await send(`${gateway.api}?${query}`, { headers, body: '{"title":"x"}' });
      assert.equal(atContract.status, headers.Authorization || Object.keys(headers).length > 0 ? 200 : 401);
    });
  }

  test('is refused in the shape of the dialect if it is wrong or missing', async () => {
    const wrong: Headers[] = [{}, basic('phil', 'secret'), { Authorization: 'Bearer svc_wrong-wrong-wrong' }];
    for (const headers of wrong) {
      const { status, body } = await send(`${gateway.api}alerts`, { headers, body: 'x' });
      assert.equal(status, 401);
      assert.deepEqual([body?.code, body?.http], [40101, 401]);
    }
    const two = { ...bearer(), 'X-Gotify-Key': 'svc_other-other-other' };
    assert.equal((await send(`${gateway.api}alerts`, { headers: two, body: 'x' })).status, 401);
    assert.equal((await stored()).length, 0);
  });

  test('does not clash with a password for a proxy', async () => {
    const headers = { ...basic('proxy', 'password'), 'X-API-Key': gateway.key };
    assert.equal((await send(gateway.api, { headers, body: '{"title":"x"}' })).status, 200);
  });

  test('does not make topics of reserved names', async () => {
    for (const name of ['ping', 'api', 'metrics', 'static', 'v1', 'in']) {
      assert.equal(
        (await send(`${gateway.api}${name}`, { headers: bearer(), body: 'x' })).body?.code,
        'not_found',
        name,
      );
    }
  });
});

suite('JSON of ntfy at the resource of the contract', () => {
  const json = () => ({ ...bearer(), 'Content-Type': 'application/json' });

  test('is a notification, with the members of both in the response', async () => {
    const message = { topic: 'home', title: 'Door', message: 'is open', priority: 5, tags: ['door'] };
    const { status, body } = await send(gateway.api, { headers: json(), body: JSON.stringify(message) });
    assert.equal(status, 200);
    const { id, title, body: text, severity, source } = await onlyStored();
    assert.deepEqual([title, text, severity, source], ['Door', 'is open', 'critical', 'home']);
    const { ok, event, topic, message: sent, time } = body as Record<string, unknown>;
    assert.deepEqual([ok, body?.id, event, topic, sent], [true, id, 'message', 'home', 'is open']);
    assert.equal(time, Math.floor(gateway.clock.now / 1000));
  });

  test('does not override fields of the contract', async () => {
    const fields = { topic: 'home', message: 'x', priority: 5, severity: 'info', source: 'alarm' };
    await send(gateway.api, { headers: json(), body: JSON.stringify(fields) });
    const { severity, source } = await onlyStored();
    assert.deepEqual([severity, source], ['info', 'alarm']);
  });

  test('needs a topic, and a message or title', async () => {
    for (const fields of [{ topic: 'home', body: 'x' }, { topic: 'a b', title: 'x' }, { message: 'x' }]) {
      const { body } = await send(gateway.api, { headers: json(), body: JSON.stringify(fields) });
      assert.deepEqual([body?.ok, body?.event], [true, undefined]);
    }
  });

  test('is refused if it is for later', async () => {
    const body = JSON.stringify({ topic: 'home', message: 'x', delay: '30m' });
    const refused = await send(gateway.api, { headers: json(), body });
    assert.deepEqual([refused.status, refused.body?.code], [400, 'invalid_body']);
  });
});

const gotifyPlaces: Record<string, () => Promise<{ base: string; headers: Headers }>> = {
  'below a hook': async () => ({ base: await newHook(), headers: { 'X-Gotify-Key': 'AbCdEfGhIjKlMnO' } }),
  'below a hook, with a slash too many': async () => ({ base: `${await newHook()}/`, headers: {} }),
  'at the root with a key': async () => ({
    base: gateway.api.slice(0, -1),
    headers: { 'X-Gotify-Key': gateway.key },
  }),
};

for (const [place, open] of Object.entries(gotifyPlaces)) {
  suite(`Gotify ${place}`, () => {
    const fields = { title: 'Disk full', message: '/var is at 98 %', priority: '5' };
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    const query = new URLSearchParams(fields).toString();
    const formType = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const ways: Record<string, { query?: string; headers?: Headers; body?: string | FormData }> = {
      JSON: { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ ...fields, priority: 5 }) },
      'a form': { headers: formType, body: query },
      multipart: { body: form },
      'the query': { query },
    };
    for (const [name, way] of Object.entries(ways)) {
      test(`takes a message as ${name}`, async () => {
        const { base, headers } = await open();
        const { query = '', ...sent } = way;
        const { status, body } = await send(`${base}/message?${query}`, {
          ...sent,
          headers: { ...headers, ...sent.headers },
        });
        assert.equal(status, 200);
        const { title, body: text, severity } = await onlyStored();
        assert.deepEqual([title, text, severity], ['Disk full', '/var is at 98 %', 'warning']);
        const { id, date, ...rest } = body as Record<string, unknown>;
        assert.ok(Number.isInteger(id) && (id as number) < 2 ** 31);
        assert.equal(date, new Date(gateway.clock.now).toISOString());
        assert.deepEqual(rest, { appid: 1, message: '/var is at 98 %', title: 'Disk full', priority: 5 });
      });
    }

    test('refuses a message without text in the shape of Gotify', async () => {
      const { base, headers } = await open();
      for (const body of ['{"title":"x"}', '', 'text']) {
        const refused = await send(`${base}/message`, { headers, body });
        assert.equal(refused.status, 400);
        assert.deepEqual([refused.body?.error, refused.body?.errorCode], ['Bad Request', 400]);
      }
      assert.equal((await send(`${base}/message`, { method: 'DELETE', headers })).body?.errorCode, 405);
    });

    test('says its version and health', async () => {
      const { base } = await open();
      assert.equal((await send(`${base}/version`, { method: 'GET' })).body?.version, '0.0.0-test');
      assert.equal((await send(`${base}/health`, { method: 'GET' })).body?.health, 'green');
    });
  });
}

suite('Gotify', () => {
  test('maps the priority, and never to critical', async () => {
    const seen = [];
    for (const priority of [0, 3, 4, 7, 8, 10, undefined]) {
      const body = JSON.stringify({ message: `priority ${priority}`, priority });
      await send(`${gateway.api}message?token=${gateway.key}`, { body });
    }
    for (const { content } of await stored()) seen.push(content.severity);
    assert.deepEqual(seen, ['info', 'info', 'warning', 'warning', 'error', 'error', null]);
  });

  test('removes the fences around the text of Proxmox', async () => {
    const message = '```\nBackup failed\non pve1\n```';
    await send(`${gateway.api}message?token=${gateway.key}`, { body: JSON.stringify({ message }) });
    assert.equal((await onlyStored()).body, 'Backup failed\non pve1');
  });

  test('refuses a wrong key in its own shape', async () => {
    const { status, body } = await send(`${gateway.api}message?token=AbCdEfGhIjKlMnO`, { body: '{"message":"x"}' });
    assert.equal(status, 401);
    assert.deepEqual([body?.error, body?.errorCode], ['Unauthorized', 401]);
    assert.equal(typeof body?.errorDescription, 'string');
  });
});

suite('The Apprise API', () => {
  const notification = { title: 'Disk full', body: '/var is at 98 %', type: 'failure', tag: 'nas' };

  test('takes a notification with the token of a hook as the key', async () => {
    const hook = await newHook();
    const token = hook.slice(`${gateway.api}in/`.length);
    for (const url of [`${gateway.api}notify/${token}`, `${gateway.api}notify/${token}/`]) {
      assert.equal((await send(url, { body: JSON.stringify(notification) })).status, 200);
    }
    const inHeader = { headers: { 'X-Apprise-Config-ID': token }, body: JSON.stringify(notification) };
    assert.equal((await send(`${gateway.api}notify`, inHeader)).status, 200);
    const { title, body, severity, source } = await onlyStored();
    assert.deepEqual([title, body, severity, source], ['Disk full', '/var is at 98 %', 'error', 'Build server']);
    assert.equal((await send(`${gateway.api}notify/hook_x`, { body: '{"body":"x"}' })).status, 404);
  });

  test('takes a form below a hook, and any key with an API key in a header', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const form = new URLSearchParams({ body: '<p>one</p><b>two</b> &amp; three', type: 'success', format: 'html' });
    const { status } = await send(`${await newHook()}/notify`, { headers, body: form.toString() });
    assert.equal(status, 200);
    const { body, severity } = await onlyStored();
    assert.deepEqual([body, severity], ['one\ntwo & three', 'info']);
    const withKey = { headers: basic('apprise', gateway.key), body: JSON.stringify(notification) };
    assert.equal((await send(`${gateway.api}notify/config`, withKey)).status, 200);
  });

  test('refuses other addresses, a missing body and a missing key, in its own shape', async () => {
    const url = `${gateway.api}notify`;
    for (const fields of [{ urls: 'json://x', body: 'x' }, { title: 'x' }]) {
      const { status, body } = await send(url, { headers: bearer(), body: JSON.stringify(fields) });
      assert.equal(status, 400);
      assert.equal(typeof body?.error, 'string');
    }
    const { status, body } = await send(url, { body: JSON.stringify(notification) });
    assert.deepEqual([status, body?.code], [401, undefined]);
    assert.equal((await stored()).length, 0);
  });
});
