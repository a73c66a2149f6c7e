// The reverse-proxy set-up of the operators' guide, run as documented.
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { json, text } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { Nginx, nginxExample, nginxObstacle } from '@tocsin/test-support/nginx.ts';
import type { ResponseBody } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { createTestAuthority } from '@tocsin/test-support/tls-ca.ts';
import { connectAsync } from 'mqtt';

interface Site {
  gateway: GatewayProcess;
  port: number;
  ca: string;
  /** Sends a request to nginx as a client at that address of this machine. */
  ask(from: string, path: string, options?: AskOptions): Promise<{ status: number; body: ResponseBody }>;
}

interface AskOptions {
  headers?: Record<string, string>;
  body?: string;
}

async function startSite(t: TestContext): Promise<Site> {
  const authority = createTestAuthority();
  t.after(() => authority.remove());
  const { certFile, keyFile } = authority.issue('DNS:tocsin.example.com', 'DNS:inbox.example.com', 'IP:127.0.0.1');
  const installation = await install(t, {
    TOCSIN_TRUSTED_PROXIES: '127.0.0.1',
    TOCSIN_API_URL: 'https://tocsin.example.com/',
    TOCSIN_CONSOLE_URL: 'https://inbox.example.com',
  });
  const gateway = await installation.serve();
  const folder = '/etc/letsencrypt/live/tocsin.example.com';
  const nginx = await Nginx.start(nginxExample(), (port) => ({
    'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
    [`${folder}/fullchain.pem`]: certFile,
    [`${folder}/privkey.pem`]: keyFile,
    '127.0.0.1:8080': new URL(gateway.api).host,
    '127.0.0.1:8081': new URL(gateway.line.console).host,
  }));
  t.after(() => nginx.stop());
  const { port } = nginx;
  const agent = new Agent({ ca: authority.ca, keepAlive: true, maxSockets: 8 });
  t.after(() => agent.destroy());
  return {
    gateway,
    port,
    ca: authority.ca,
    ask: (from, path, { headers = {}, body } = {}) =>
      new Promise((resolve, reject) => {
        const call = request(
          {
            host: '127.0.0.1',
            servername: 'tocsin.example.com',
            port,
            path,
            agent,
            localAddress: from,
            method: body === undefined ? 'GET' : 'POST',
            headers: { Host: 'tocsin.example.com', ...headers },
          },
          async (answer) => resolve({ status: answer.statusCode ?? 0, body: (await json(answer)) as ResponseBody }),
        );
        call.once('error', reject);
        call.end(body);
      }),
  };
}

suite('Behind nginx, configured as in the guide', () => {
  test('requests pass unchanged, too large ones are refused in JSON, and the console stays hidden', async (t) => {
    if (!canRun(t, nginxObstacle())) return;
    const { gateway, ask } = await startSite(t);
    const headers = { 'X-API-Key': gateway.key, 'Content-Type': 'application/json' };
    const accepted = await ask('127.0.0.2', '/', { headers, body: '{"title":"through nginx"}' });
    assert.equal(accepted.body.stored, true);
    const large = JSON.stringify({ title: 'x', filler: 'x'.repeat(300_000) });
    assert.equal((await ask('127.0.0.2', '/', { headers, body: large })).body.code, 'body_too_large');
    for (const path of ['/metrics', '/healthz', '/readyz', '/mqtt/../metrics']) {
      assert.equal((await ask('127.0.0.2', path)).body.code, 'not_found', path);
    }
  });

  test('the address of the caller counts, whatever headers it sends, and not that of the proxy', async (t) => {
    if (!canRun(t, nginxObstacle())) return;
    const { ask } = await startSite(t);
    const guess = (from: string): Promise<{ status: number }> =>
      ask(from, '/', { headers: { 'X-API-Key': 'svc_wrong-wrong-wrong', 'X-Forwarded-For': '127.0.0.3' }, body: '{}' });
    const statuses = new Set<number>();
    const attack = async (): Promise<void> => {
      while (!statuses.has(429)) statuses.add((await guess('127.0.0.2')).status);
    };
    await Promise.all(Array.from({ length: 8 }, attack));
    assert.deepEqual([...statuses].sort(), [401, 429]);
    assert.equal((await guess('127.0.0.2')).status, 429);
    assert.equal((await guess('127.0.0.3')).status, 401);
  });

  test('MQTT over WebSocket works, and the broker knows the addresses of its clients', async (t) => {
    if (!canRun(t, nginxObstacle())) return;
    const { gateway, port, ca, ask } = await startSite(t);
    const { mqtt } = (gateway.line.firstRun as unknown as { device: { mqtt: Record<string, string> } }).device;
    const { username = '', password = '', topic = '' } = mqtt;
    const options = { reconnectPeriod: 0, ca, wsOptions: { localAddress: '127.0.0.2' } };
    const client = await connectAsync(`wss://127.0.0.1:${port}/mqtt`, { ...options, username, password });
    t.after(() => client.endAsync(true));
    await client.subscribeAsync(topic, { qos: 1 });
    const message = new Promise<Buffer>((resolve) => client.once('message', (_topic, payload) => resolve(payload)));
    const headers = { 'X-API-Key': gateway.key, 'Content-Type': 'application/json' };
    await ask('127.0.0.3', '/', { headers, body: '{"title":"through nginx"}' });
    assert.equal((JSON.parse(String(await message)) as { title: string }).title, 'through nginx');
    await assert.rejects(
      connectAsync(`wss://127.0.0.1:${port}/mqtt`, { ...options, username, password: 'wrong' }, false),
    );
    await eventually(
      'the refusal is in the log with its address',
      5000,
      () => gateway.log,
      (log) => /"sign_in_refused".*"address":"127\.0\.0\.2"/.test(log),
    );
  });

  test('the inbox has its own host name, signs in over https, and gets new notifications at once', async (t) => {
    if (!canRun(t, nginxObstacle())) return;
    const { gateway, port, ca, ask } = await startSite(t);
    const agent = new Agent({ ca });
    t.after(() => agent.destroy());
    const visit = (path: string, headers: Record<string, string> = {}, body?: string): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const method = body === undefined ? 'GET' : 'POST';
        const host = { Host: 'inbox.example.com', ...headers };
        const options = {
          host: '127.0.0.1',
          servername: 'inbox.example.com',
          port,
          path,
          agent,
          method,
          headers: host,
        };
        request(options, resolve).once('error', reject).end(body);
      });
    const page = await visit('/inbox/1');
    assert.match(String(page.headers['content-security-policy']), /connect-src 'self' https:\/\/tocsin\.example\.com;/);
    assert.match(await text(page), /<div id="app">/);
    assert.equal((await visit('/metrics')).statusCode, 404);

    const token = new URL(gateway.line.firstRun?.signIn ?? '').hash.slice(1);
    const signIn = { 'Content-Type': 'application/json', Origin: 'https://inbox.example.com' };
    const signedIn = await visit('/api/sign-in/link', signIn, JSON.stringify({ token }));
    const [cookie = ''] = signedIn.headers['set-cookie'] ?? [];
    assert.match(cookie, /; Secure/);
    const events = await visit('/api/events', { Cookie: cookie.replace(/;.*$/, '') });
    assert.equal(events.statusCode, 200);
    const arrived = (async () => {
      let seen = '';
      for await (const chunk of events) {
        seen += chunk;
        if (seen.includes('Live through nginx')) return performance.now();
      }
      return assert.fail(`The stream ended: ${seen}`);
    })();
    const headers = { 'X-API-Key': gateway.key, 'Content-Type': 'application/json' };
    await ask('127.0.0.2', '/', { headers, body: '{"title":"Live through nginx"}' });
    const answeredAt = performance.now();
    assert.ok((await arrived) - answeredAt < 1000);
    events.destroy();
  });
});
