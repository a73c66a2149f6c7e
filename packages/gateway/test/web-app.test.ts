// How the console serves the inbox app: URLs, caching, compression, and the Content-Security-Policy.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { createConsoleApp } from '../src/console/app.ts';
import { createConsoleServer } from '../src/console/server.ts';
import { addWebApp } from '../src/console/web-app.ts';

const page = '<!doctype html><title>Tocsin</title>';
const script = `console.log('${'x'.repeat(2000)}')`;
const forEver = 'public, max-age=31536000, immutable';

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

suite('The inbox app', () => {
  const root = mkdtempSync(join(tmpdir(), 'tocsin-web-app-'));
  const folder = join(root, 'dist');
  const app = createConsoleApp();
  const server = createConsoleServer({
    readiness: { report: async () => ({ ok: false, stopping: true }) },
    metrics: { source: { contentType: 'text/plain', metrics: async () => '' }, token: null },
    isKnownHost: () => true,
    openApp: async () => {
      await app.ready();
      return app.routing;
    },
    onError: (error) => assert.ifError(error),
  });
  let port = 0;

  before(async () => {
    writeFileSync(join(root, 'secret.js'), 'not for anybody');
    addWebApp(app, { apiUrl: () => 'https://api.example.com/notify/', folder });
    app.register(async (api) => api.setNotFoundHandler((_request, reply) => reply.code(404).send({ from: 'api' })), {
      prefix: '/api',
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    port = (server.address() as AddressInfo).port;
  });
  after(async () => {
    server.close();
    await app.close();
    rmSync(root, { recursive: true, force: true });
  });

  /** The path is sent unchanged. */
  function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const call = request({ host: '127.0.0.1', port, path, headers, method }, async (answer) =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers as Record<string, string>,
          body: await buffer(answer),
        }),
      );
      call.once('error', reject);
      call.end();
    });
  }

  test('explains how to build it until it is built', async () => {
    const { status, headers, body } = await ask('/');
    assert.equal(status, 503);
    assert.match(headers['content-type'] ?? '', /^text\/plain/);
    assert.match(body.toString(), /npm run build/);
    mkdirSync(join(folder, 'assets'), { recursive: true });
    writeFileSync(join(folder, '.stamp'), 'of the build');
    writeFileSync(join(folder, 'assets', 'index-abc123.js'), script);
    writeFileSync(join(folder, 'sw.js'), script);
    writeFileSync(join(folder, 'manifest.webmanifest'), '{}');
    writeFileSync(join(folder, 'icon-192.png'), Buffer.from([0x89, 0x50, 0x4e, 0x47]));
    writeFileSync(join(folder, 'index.html'), page);
    assert.equal((await ask('/')).status, 200);
  });

  test('serves its page for every address that users may open or bookmark', async () => {
    for (const path of [
      '/',
      '/inbox/01a1de4f-1a2b-73af-be8c-d24ea4a12dd3',
      '/sign-in',
      '/docs',
      '/?source=pwa',
      '/apis',
    ]) {
      const { status, headers, body } = await ask(path);
      assert.deepEqual([path, status, headers['content-type']], [path, 200, 'text/html; charset=utf-8']);
      assert.equal(body.toString(), page);
    }
  });

  test('is not served for missing files, program paths or other methods', async () => {
    for (const path of [
      '/robots.txt',
      '/assets/index-old.js',
      '/assets/',
      '/mqtt',
      '/healthz/x',
      '/metrics/x',
      '/.stamp',
    ]) {
      assert.equal((await ask(path)).status, 404, path);
    }
    for (const path of ['/api', '/api/nothing', '/api/a.js']) {
      assert.deepEqual(JSON.parse((await ask(path)).body.toString()), { from: 'api' });
    }
    assert.equal((await ask('/inbox/1', {}, 'POST')).status, 404);
    assert.equal((await ask('/healthz')).body.toString(), '{"ok":true}');
  });

  test('serves nothing from outside its folder, however the path is encoded', async () => {
    for (const path of [
      '/../secret.js',
      '/assets/../../secret.js',
      '/%2e%2e/secret.js',
      '/..%2fsecret.js',
      '/assets/..%5c..%5csecret.js',
      '//secret.js',
      '/assets/%2e%2e/%2e%2e/secret.js',
      '/..\\secret.js',
    ]) {
      const { status, body } = await ask(path);
      assert.equal(status, 404, path);
      assert.doesNotMatch(body.toString(), /not for anybody/, path);
    }
    assert.equal((await ask('/%')).status, 404, 'an invalid path');
  });

  test('has hashed files cached forever and the others revalidated every time', async () => {
    assert.equal((await ask('/assets/index-abc123.js')).headers['cache-control'], forEver);
    for (const path of ['/', '/inbox/1', '/sw.js', '/manifest.webmanifest']) {
      const { headers } = await ask(path);
      assert.equal(headers['cache-control'], 'no-cache', path);
      const { etag = '' } = headers;
      for (const known of [etag, etag.replace('W/', ''), `"other", ${etag}`]) {
        const again = await ask(path, { 'if-none-match': known });
        assert.deepEqual([again.status, again.body.length], [304, 0]);
        assert.equal(again.headers.etag, etag);
      }
      assert.equal((await ask(path, { 'if-none-match': '"other"' })).status, 200);
    }
  });

  test('is compressed as the browser accepts', async () => {
    const path = '/assets/index-abc123.js';
    const brotli = await ask(path, { 'accept-encoding': 'gzip, deflate, br, zstd' });
    assert.equal(brotli.headers['content-encoding'], 'br');
    assert.equal(brotliDecompressSync(brotli.body).toString(), script);
    const gzipped = await ask(path, { 'accept-encoding': 'gzip, br;q=0' });
    assert.equal(gzipped.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(gzipped.body).toString(), script);
    const plain = await ask(path);
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(plain.body.toString(), script);
    for (const { headers } of [brotli, gzipped, plain]) assert.equal(headers.vary, 'accept-encoding');
    const image = await ask('/icon-192.png', { 'accept-encoding': 'br' });
    assert.equal(image.headers['content-encoding'], undefined, 'a PNG is already compressed');
    assert.equal(image.headers['content-type'], 'image/png');
  });

  test('responds to HEAD like GET, without the content', async () => {
    const wanted = await ask('/inbox/1', { 'accept-encoding': 'br' });
    const head = await ask('/inbox/1', { 'accept-encoding': 'br' }, 'HEAD');
    assert.equal(head.status, 200);
    assert.equal(head.body.length, 0);
    for (const name of ['content-length', 'content-type', 'content-encoding', 'etag', 'content-security-policy']) {
      assert.equal(head.headers[name], wanted.headers[name], name);
    }
  });

  test('may run its own scripts only, connect to the service only, and not be framed', async () => {
    for (const path of ['/', '/sign-in', '/sw.js']) {
      const { headers } = await ask(path);
      const policy = new Map(
        (headers['content-security-policy'] ?? '').split('; ').map((each): [string, string] => {
          const [name = '', ...values] = each.split(' ');
          return [name, values.join(' ')];
        }),
      );
      assert.equal(policy.get('default-src'), "'none'");
      assert.equal(policy.get('script-src'), "'self'");
      assert.equal(policy.get('style-src'), "'self'");
      assert.equal(policy.get('connect-src'), "'self' https://api.example.com");
      assert.equal(policy.get('base-uri'), "'none'");
      assert.equal(policy.get('frame-ancestors'), "'none'");
      assert.equal(policy.get('require-trusted-types-for'), "'script'");
      assert.equal(policy.get('trusted-types'), 'tocsin');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['x-frame-options'], 'DENY');
      assert.equal(headers['referrer-policy'], 'no-referrer');
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
    }
  });
});
