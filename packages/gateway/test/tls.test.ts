// TLS on the listeners: configuration, behaviour towards clients, and renewal of the certificate.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { connect as connectPlainly } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { type LocalGateway, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import { rawRequest } from '@tocsin/test-support/raw-request.ts';
import { serveExpectingFailure } from '@tocsin/test-support/refusal-to-start.ts';
import { SecureCaller } from '@tocsin/test-support/secure-caller.ts';
import { createTestAuthority, type IssuedCertificate, type TestAuthority } from '@tocsin/test-support/tls-ca.ts';
import { connectAsync } from 'mqtt';
import { openTls, type Tls } from '../src/process/tls/index.ts';

const run = promisify(execFile);

let authority: TestAuthority;
before(() => {
  authority = createTestAuthority();
});
after(() => authority.remove());

const tlsSettings = ({ certFile, keyFile }: IssuedCertificate): Record<string, string> => ({
  TOCSIN_TLS_CERT: certFile,
  TOCSIN_TLS_KEY: keyFile,
});

function callerOf(t: TestContext): SecureCaller {
  const caller = new SecureCaller(authority.ca);
  t.after(() => caller.close());
  return caller;
}

const closingGet = (url: string | URL): string =>
  `GET ${new URL(url).pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`;

suite('With a certificate', () => {
  test('both listeners use https, and every printed URL has that scheme', async (t) => {
    const gateway = await (await install(t, tlsSettings(authority.issue('IP:127.0.0.1')))).serve();
    const { api, console: consoleUrl, firstRun } = gateway.line;
    assert.match(api, /^https:/);
    assert.match(consoleUrl, /^https:/);
    const caller = callerOf(t);
    assert.equal((await caller.notify(gateway, { title: 'sealed on the way' })).body.stored, true);
    assert.equal((await caller.get(new URL('/healthz', consoleUrl))).status, 200);
    for (const url of [api, new URL('/api/no', consoleUrl), new URL('/readyz', consoleUrl)]) {
      const { headers } = await rawRequest(String(url), closingGet(url));
      assert.equal(headers['strict-transport-security'], 'max-age=15552000', String(url));
    }
    const pasted = await run('sh', ['-c', `${firstRun?.curl} -s --cacert ${authority.caFile}`]);
    assert.equal((JSON.parse(pasted.stdout) as { stored: boolean }).stored, true);
    assert.match(gateway.log, /TLS certificate loaded/);
  });

  test('MQTT over WebSocket is wss at the printed URL, and MQTT over TCP stays unchanged', async (t) => {
    const gateway = await (await install(t, tlsSettings(authority.issue('IP:127.0.0.1')))).serve();
    const { mqtt } = (
      gateway.line.firstRun as unknown as {
        device: { mqtt: { username: string; password: string; topic: string; urls: string[] } };
      }
    ).device;
    assert.deepEqual(mqtt.urls.map((url) => new URL(url).protocol).sort(), ['mqtt:', 'wss:']);
    const caller = callerOf(t);
    for (const url of mqtt.urls) {
      const { username, password, topic } = mqtt;
      const client = await connectAsync(url, { username, password, reconnectPeriod: 0, ca: authority.ca });
      t.after(() => client.endAsync(true));
      await client.subscribeAsync(topic, { qos: 1 });
      const message = new Promise<Buffer>((resolve) => client.once('message', (_topic, payload) => resolve(payload)));
      await caller.notify(gateway, { title: url });
      assert.equal((JSON.parse(String(await message)) as { title: string }).title, url);
    }
  });

  test('protocols older than TLS 1.2 are refused, and HTTP/1.1 is negotiated', async (t) => {
    const gateway = await (await install(t, tlsSettings(authority.issue('IP:127.0.0.1')))).serve();
    const target = { host: '127.0.0.1', port: Number(new URL(gateway.api).port), ca: authority.ca };
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await assert.rejects(once(connect({ ...target, ...old }), 'secureConnect'), /protocol version|alert/i);
    const socket = connect({ ...target, maxVersion: 'TLSv1.2', ALPNProtocols: ['h2', 'http/1.1'] });
    await once(socket, 'secureConnect');
    assert.equal(socket.alpnProtocol, 'http/1.1');
    socket.destroy();
  });

  test('plain http gets a readable error, on both listeners, and affects no other client', async (t) => {
    const gateway = await (await install(t, tlsSettings(authority.issue('IP:127.0.0.1')))).serve();
    const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
    const toApi = await rawRequest(gateway.api.replace('https:', 'http:'), request);
    assert.equal(toApi.status, 400);
    assert.deepEqual(toApi.body?.details, [{ field: 'request', problem: 'this port expects https, not http' }]);
    assert.equal((await rawRequest(gateway.line.console.replace('https:', 'http:'), request)).status, 400);
    assert.equal((await callerOf(t).notify(gateway, { title: 'still here' })).status, 200);
  });

  test('doctor and device test reach the server over TLS', async (t) => {
    const installation = await install(t, tlsSettings(authority.issue('DNS:tocsin.example.com')));
    const gateway = await installation.serve();
    const ports = {
      TOCSIN_PORT: new URL(gateway.api).port,
      TOCSIN_CONSOLE_PORT: new URL(gateway.line.console).port,
      TOCSIN_MQTT_PORT: new URL(gateway.line.mqtt ?? '').port,
    };
    const device = gateway.line.firstRun?.device.id ?? '';
    const tested = await installation.run(['device', 'test', device], ports);
    assert.equal(tested.exitCode, 0, tested.stdout + tested.stderr);
    const examined = await installation.run(['doctor'], ports);
    assert.match(examined.stdout, /ok +mqtt: the embedded broker is running/);
    assert.match(examined.stdout, /warning +certificate: expires soon, at 20/);
    const created = await installation.run(['device', 'create', '--name', 'Lamp', '--json'], ports);
    assert.match(created.stdout, new RegExp(`wss://127.0.0.1:${ports.TOCSIN_CONSOLE_PORT}/mqtt`));
  });
});

suite('Invalid TLS settings are reported at the start, with the variable', () => {
  test('only one of the two, missing files, files that are not PEM, or a key that does not match', async (t) => {
    const installation = await install(t);
    const one = authority.issue('IP:127.0.0.1');
    const other = authority.issue('IP:127.0.0.1');
    const nothing = join(installation.dataDir, 'nothing.pem');
    const cut = join(installation.dataDir, 'cut.pem');
    // The certificate is complete, the chain after it is truncated.
    await writeFile(cut, one.cert + authority.ca.slice(0, 300));
    for (const [environment, expected] of [
      [{ TOCSIN_TLS_CERT: one.certFile }, /TOCSIN_TLS_KEY is needed with TOCSIN_TLS_CERT/],
      [{ TOCSIN_TLS_KEY: one.keyFile }, /TOCSIN_TLS_CERT is needed with TOCSIN_TLS_KEY/],
      [{ TOCSIN_TLS_CERT: nothing, TOCSIN_TLS_KEY: one.keyFile }, /TOCSIN_TLS_CERT: .*nothing\.pem cannot be read/],
      [{ TOCSIN_TLS_CERT: one.certFile, TOCSIN_TLS_KEY: nothing }, /TOCSIN_TLS_KEY: .*nothing\.pem cannot be read/],
      [
        { TOCSIN_TLS_CERT: one.keyFile, TOCSIN_TLS_KEY: one.keyFile },
        /TOCSIN_TLS_CERT: .* contains no PEM certificate/,
      ],
      [
        { TOCSIN_TLS_CERT: one.certFile, TOCSIN_TLS_KEY: one.certFile },
        /TOCSIN_TLS_KEY: .* contains no PEM private key/,
      ],
      [{ TOCSIN_TLS_CERT: one.certFile, TOCSIN_TLS_KEY: other.keyFile }, /TOCSIN_TLS_KEY: .* does not belong/],
      [{ TOCSIN_TLS_CERT: cut, TOCSIN_TLS_KEY: one.keyFile }, /TOCSIN_TLS_CERT: .*cut\.pem cannot be used/],
    ] as const) {
      const { exitCode, stdout, stderr } = await serveExpectingFailure(installation, environment);
      assert.equal(exitCode, 1, stdout);
      assert.match(stderr, expected);
      assert.doesNotMatch(stderr, /\n {4}at |PRIVATE KEY/);
    }
  });

  test('doctor reports the same, and accepts a valid certificate', async (t) => {
    const lasting = createTestAuthority(30);
    t.after(() => lasting.remove());
    const good = lasting.issue('DNS:tocsin.example.com');
    const installation = await install(t);
    const well = await installation.run(['doctor'], tlsSettings(good));
    assert.match(well.stdout, /ok +certificate: for DNS:tocsin\.example\.com, until 20/);
    const mixed = { ...tlsSettings(good), TOCSIN_TLS_KEY: authority.issue('IP:127.0.0.1').keyFile };
    const ill = await installation.run(['doctor'], mixed);
    assert.equal(ill.exitCode, 1);
    assert.match(ill.stdout, /FAILED +certificate: TOCSIN_TLS_KEY: .* does not belong/);
  });
});

suite('A renewed certificate', () => {
  /** The layout of certbot: links in one folder that are pointed to new files, one after the other. */
  async function liveFolder(installation: Installation) {
    const folder = join(installation.dataDir, 'live');
    await mkdir(folder);
    let version = 0;
    const point = async (name: string, file: string): Promise<void> => {
      await symlink(file, join(folder, `${name}.new`));
      await rename(join(folder, `${name}.new`), join(folder, name));
    };
    return {
      settings: { TOCSIN_TLS_CERT: join(folder, 'fullchain.pem'), TOCSIN_TLS_KEY: join(folder, 'privkey.pem') },
      async put(part: 'cert' | 'key', certificate: IssuedCertificate) {
        version += 1;
        const file = join(folder, `${part}${version}.pem`);
        await copyFile(part === 'cert' ? certificate.certFile : certificate.keyFile, file);
        await point(part === 'cert' ? 'fullchain.pem' : 'privkey.pem', file);
      },
    };
  }

  async function serveLive(t: TestContext) {
    const installation = await install(t);
    const live = await liveFolder(installation);
    const first = authority.issue('IP:127.0.0.1');
    await live.put('cert', first);
    await live.put('key', first);
    return { gateway: await installation.serve(live.settings), live };
  }

  /** The name in the certificate that a new connection to the address gets. */
  async function shownAt(address: string): Promise<string> {
    const caller = new SecureCaller(authority.ca);
    const { certificate } = await caller.get(address);
    caller.close();
    return String(certificate.subject.CN);
  }

  const warnings = (gateway: GatewayProcess): number => gateway.log.split('TLS certificate not reloaded').length - 1;

  test('is loaded within ten seconds on both listeners, and open connections stay', async (t) => {
    const { gateway, live } = await serveLive(t);
    const caller = callerOf(t);
    const before = await caller.notify(gateway, { title: 'before' });
    const old = await shownAt(gateway.api);
    const renewed = authority.issue('IP:127.0.0.1');
    await live.put('cert', renewed);
    await live.put('key', renewed);
    await eventually(
      'new connections get the new certificate',
      10_000,
      () => shownAt(gateway.api),
      (name) => name !== old,
    );
    assert.notEqual(await shownAt(new URL('/healthz', gateway.line.console).href), old);
    const again = await caller.notify(gateway, { title: 'after' });
    assert.equal(again.isReused, true);
    assert.equal(again.certificate.fingerprint256, before.certificate.fingerprint256);
    const loaded = () => gateway.log.split('TLS certificate loaded').length - 1;
    assert.equal(await eventually('the log reports it', 5000, loaded, (count) => count > 1), 2);
    assert.match(gateway.log, /"expires":"20\d\d-/);
    assert.equal(warnings(gateway), 0);
  });

  test('that does not match its key, or is half written, is reported once and the old one stays in use', async (t) => {
    const { gateway, live } = await serveLive(t);
    const old = await shownAt(gateway.api);
    const renewed = authority.issue('IP:127.0.0.1');
    await live.put('cert', renewed);
    const warned = (count: number) =>
      eventually(
        'a warning in the log',
        10_000,
        () => warnings(gateway),
        (n) => n >= count,
      );
    await warned(1);
    assert.match(gateway.log, /does not belong to the first certificate/);
    assert.equal(await shownAt(gateway.api), old);
    const half = { ...renewed, keyFile: join(authority.caFile, '../half.key') };
    await writeFile(half.keyFile, renewed.key.slice(0, 60));
    await live.put('key', half);
    await warned(2);
    assert.match(gateway.log, /contains no PEM private key/);
    assert.equal(await shownAt(gateway.api), old);
    await live.put('key', renewed);
    await eventually(
      'the pair is complete and loaded',
      10_000,
      () => shownAt(gateway.api),
      (name) => name !== old,
    );
    assert.equal(warnings(gateway), 2);
  });

  test('is loaded at once on SIGHUP, which stops nothing', async (t) => {
    const { gateway, live } = await serveLive(t);
    const renewed = authority.issue('IP:127.0.0.1');
    await live.put('cert', renewed);
    await live.put('key', renewed);
    gateway.child.kill('SIGHUP');
    await eventually(
      'the log reports it',
      1500,
      () => gateway.log.split('TLS certificate loaded').length - 1,
      (count) => count >= 2,
    );
    assert.equal(await gateway.stop(), 0);
  });
});

suite('The protections of the plain listener hold over TLS:', () => {
  let tls: Tls;
  let gateway: LocalGateway;
  before(async () => {
    tls = await openTls(authority.issue('IP:127.0.0.1'), { onLoaded: () => undefined, onKept: () => undefined });
    gateway = await startLocalGateway({
      createServer: tls.createServer,
      timeouts: { headersMs: 500, requestMs: 700 },
      maxBodyBytes: 4096,
    });
  });
  after(async () => {
    await gateway.stop();
    tls.close();
  });

  const post = (body: string, close = true): string =>
    `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${gateway.key}\r\nContent-Length: ${body.length}\r\n${close ? 'Connection: close\r\n' : ''}\r\n${body}`;

  for (const [what, bytes] of [
    ['silent', Buffer.alloc(0)],
    // The header of a record that never arrives.
    ['stuck in the middle', Buffer.from([22, 3, 1, 2, 0, 1])],
  ] as const) {
    test(`a handshake that is ${what} is aborted in time`, async () => {
      const socket = connectPlainly(Number(new URL(gateway.api).port), '127.0.0.1');
      socket.on('error', () => socket.destroy()).resume();
      socket.write(bytes);
      const startedAt = performance.now();
      await once(socket, 'close', { signal: AbortSignal.timeout(5000) });
      const ms = performance.now() - startedAt;
      assert.ok(ms > 400 && ms < 3000, `closed after ${ms} ms`);
    });
  }

  test('headers and bodies that do not arrive in time get a 408', async () => {
    for (const text of ['POST / HTTP/1.1\r\nHost: x\r\n', post('{"title":"x"}').slice(0, -5)]) {
      const { status, body } = await rawRequest(gateway.api, text);
      assert.equal(status, 408);
      assert.equal(body?.code, 'request_timeout');
    }
  });

  test('garbage gets a 400, after the response to the valid request before it', async () => {
    assert.equal((await rawRequest(gateway.api, 'GARBAGE\r\n\r\n')).status, 400);
    assert.equal((await rawRequest(gateway.api, `${post('{"title":"x"}', false)}GARBAGE\r\n\r\n`)).status, 200);
  });

  test('a client that sends Expect: 100-continue for too large a body is refused at once', async () => {
    const head =
      'POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9999\r\nConnection: close\r\n\r\n';
    assert.equal((await rawRequest(gateway.api, head)).status, 413);
  });

  test('a body that never ends is refused with the first byte too many', async () => {
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n';
    const { status } = await rawRequest(gateway.api, head, ...Array.from({ length: 80 }, () => Buffer.alloc(65_536)));
    assert.equal(status, 413);
  });

  test('a client that half-closes after sending gets a response', async () => {
    const { hostname: host, port } = new URL(gateway.api);
    const halfOpen = { allowHalfOpen: true };
    const socket: TLSSocket = connect({ host, port: Number(port), rejectUnauthorized: false, ...halfOpen });
    socket.end(post('{"title":"half-closed"}', false));
    const [answer] = await once(socket, 'data', { signal: AbortSignal.timeout(5000) });
    socket.destroy();
    assert.match(String(answer), /^HTTP\/1\.1 200 /);
  });

  test('and none of it was an internal error', () => assert.deepEqual(gateway.failures, []));
});
