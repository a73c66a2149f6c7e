// The guarded HTTP client and dialer. Forbidden addresses must not even be dialled, so these tests count sockets.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { after, before, suite, type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { findFreePort } from '@tocsin/test-support/mosquitto.ts';
import { forbiddenHosts } from '@tocsin/test-support/mqtt-forbidden-hosts.ts';
import { type CountingServer, startSilentServer, startTlsServer } from '@tocsin/test-support/mqtt-hostile-server.ts';
import { mqttMessage, patience } from '@tocsin/test-support/mqtt-messages.ts';
import { createTestAuthority, type IssuedCertificate, type TestAuthority } from '@tocsin/test-support/tls-ca.ts';
import { createCustomPublisher } from '../src/channels/mqtt/custom.ts';
import { type AddressPolicy, parseNetwork } from '../src/core/address-policy.ts';
import { normalize } from '../src/core/normalize.ts';
import { Refusal } from '../src/core/refusal.ts';
import { createEgress, type Egress, EgressFailed, type EgressOptions, EgressRefused } from '../src/egress/index.ts';

const nothing: AddressPolicy = { allowed: [] };
const loopback: AddressPolicy = { allowed: [parseNetwork('127.0.0.1/32') ?? assert.fail()] };
const request = { headers: { TTL: '60' }, body: 'hello' };

/** Counts the connections that this process tries to open, whether or not a server listens there. */
async function countSockets(work: () => Promise<void>): Promise<number> {
  let sockets = 0;
  const count = (): void => {
    sockets++;
  };
  subscribe('net.client.socket', count);
  try {
    await work();
  } finally {
    unsubscribe('net.client.socket', count);
  }
  return sockets;
}

suite('An address that no caller may reach', () => {
  let listeners: CountingServer[];
  let port: number;
  let egress: Egress;
  const asked: string[] = [];

  before(async () => {
    // One server on all IPv4 and IPv6 addresses of this machine.
    const everywhere = await startSilentServer('::');
    listeners = [everywhere];
    port = everywhere.port;
    egress = createEgress(nothing, {
      resolve: async (name) => {
        asked.push(name);
        return [{ address: '127.0.0.1' }];
      },
      timeoutMs: 2000,
    });
  });
  after(() => {
    egress.close();
    for (const listener of listeners) listener.stop();
  });
  const connections = (): number => listeners.reduce((sum, listener) => sum + listener.connections, 0);

  test('is written here in more than 400 notations', () => {
    assert.ok(forbiddenHosts.length > 400, `${forbiddenHosts.length} ways`);
  });

  test('is refused by the dialer in every notation, and no socket is opened', async () => {
    const sockets = await countSockets(async () => {
      for (const host of forbiddenHosts) {
        await assert.rejects(egress.connect(host, port, patience()), EgressFailed, host);
      }
    });
    assert.equal(sockets, 0);
    assert.equal(connections(), 0);
    assert.ok(asked.length > 0);
  });

  test('is refused by post in every notation, and no socket is opened', async () => {
    let posted = 0;
    const sockets = await countSockets(async () => {
      for (const host of forbiddenHosts) {
        for (const text of [`https://${host}:${port}/push`, `https://${host}/push`]) {
          const url = URL.parse(text);
          if (url === null) continue;
          posted++;
          await assert.rejects(egress.post(url, request, patience()), EgressFailed, text);
        }
      }
    });
    assert.ok(posted > 400, `${posted} addresses`);
    assert.equal(sockets, 0);
    assert.equal(connections(), 0);
  });

  test('does not become a broker: the request is refused, or at the latest the dialer refuses it', async () => {
    const publisher = createCustomPublisher(async () => egress, { now: Date.now });
    let refused = 0;
    let accepted = 0;
    const sockets = await countSockets(async () => {
      for (const host of forbiddenHosts) {
        for (const mqttConfig of [{ url: `wss://${host}:${port}/mqtt` }, { url: `wss://${host}` }, { host, port }]) {
          const broker = readBroker(mqttConfig);
          if (broker === null) {
            refused++;
            continue;
          }
          accepted++;
          const outcomes = await publisher.publish(broker, [mqttMessage('a', 'b')], patience());
          assert.deepEqual(
            outcomes,
            [{ kind: 'rejected', reason: 'refused', error: 'Custom MQTT broker could not be reached' }],
            host,
          );
        }
      }
    });
    assert.ok(refused > 1000, `${refused} were refused`);
    assert.ok(accepted > 0);
    assert.equal(sockets, 0);
    assert.equal(connections(), 0);
  });

  test('does not become a broker through another protocol or through credentials in the address', async () => {
    const schemes = [
      'ws',
      'mqtt',
      'mqtts',
      'http',
      'https',
      'tcp',
      'ssl',
      'wx',
      'alis',
      'unix',
      'ws+unix',
      'file',
      'wss+unix',
    ];
    const urls = [
      ...schemes.map((scheme) => `${scheme}://127.0.0.1:${port}/mqtt`),
      ...[`//127.0.0.1:${port}`, `127.0.0.1:${port}`, 'wss:', 'wss://', `wss://a:b@127.0.0.1:${port}`, 'javascript:1'],
    ];
    for (const url of urls) assert.equal(readBroker({ url }), null, url);
    for (const member of [
      'socketPath',
      'wsOptions',
      'rejectUnauthorized',
      'servername',
      'lookup',
      'socksProxy',
      'ca',
    ]) {
      assert.equal(readBroker({ url: 'wss://example.com', [member]: 'x' }), null, member);
    }
    assert.equal(connections(), 0);
  });

  test('is refused as the result of a name server, also beside a permitted one, and no socket is opened', async () => {
    const good = { address: '127.0.0.1' };
    const answers = [
      '10.0.0.1',
      '::1',
      '::ffff:10.0.0.1',
      '64:ff9b::a00:1',
      '2606:4700::1111%lo',
      'localhost',
      '127.1',
      '',
    ];
    const sockets = await countSockets(async () => {
      for (const address of answers) {
        for (const addresses of [[{ address }], [good, { address }], [{ address }, good]]) {
          const misled = createEgress(loopback, { resolve: async () => addresses, timeoutMs: 2000 });
          await assert.rejects(misled.connect('broker.test', port, patience()), EgressRefused, address);
        }
      }
    });
    assert.equal(sockets, 0);
  });

  test('would be detected: with a policy that allows it, a socket is opened and counted', async () => {
    const open = createEgress(loopback, { timeoutMs: 200 });
    const sockets = await countSockets(async () => {
      await assert.rejects(open.connect('127.0.0.1', port, patience()), EgressFailed);
      await assert.rejects(open.post(new URL(`https://2130706433:${port}/`), request, patience()), EgressFailed);
    });
    open.close();
    assert.equal(sockets, 2);
    await eventually('the connections', 2000, connections, (count) => count === 2);
  });
});

function readBroker(mqttConfig: Record<string, string | number>) {
  try {
    return normalize({ title: 'a', mqttConnection: { mode: 'custom' }, mqttConfig }, nothing).customBroker;
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return null;
  }
}

suite('A push service that a caller named', () => {
  let authority: TestAuthority;
  let certificate: IssuedCertificate;
  before(() => {
    authority = createTestAuthority();
    certificate = authority.issue('DNS:push.test', 'IP:127.0.0.1');
  });
  after(() => authority.remove());

  function createTestEgress(t: TestContext, options: EgressOptions = {}): Egress {
    const resolve = async () => [{ address: '127.0.0.1' }];
    const egress = createEgress(loopback, { ca: [authority.ca], resolve, timeoutMs: 500, ...options });
    t.after(() => egress.close());
    return egress;
  }

  async function startServer(t: TestContext, server: Server): Promise<{ url: URL; connections: () => number }> {
    let count = 0;
    server.on('secureConnection', (socket: Socket) => {
      count++;
      t.after(() => socket.destroy());
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    return { url: new URL(`https://push.test:${port}/send/abc?x=1`), connections: () => count };
  }

  test('receives the request unchanged, and its response is returned without the body', async (t) => {
    const seen: unknown[] = [];
    const server = createServer(certificate, async (message, response) => {
      const chunks = await message.toArray();
      seen.push([
        message.method,
        message.url,
        message.headers.host,
        message.headers.ttl,
        Buffer.concat(chunks).toString(),
      ]);
      response.writeHead(201, { Location: 'https://push.test/receipt', 'Retry-After': '7' }).end('thank you');
    });
    const { url, connections } = await startServer(t, server);
    const egress = createTestEgress(t);
    const answer = await egress.post(url, { headers: { TTL: '60' }, body: Buffer.from('hé') }, patience());
    assert.equal(answer.status, 201);
    assert.equal(answer.headers['retry-after'], '7');
    assert.deepEqual(Object.keys(answer), ['status', 'headers']);
    assert.deepEqual(seen, [['POST', '/send/abc?x=1', url.host, '60', 'hé']]);

    for (let n = 0; n < 5; n++) {
      // A connection returns to the agent only when its body is read to the end, a moment after the response.
      await new Promise(setImmediate);
      await egress.post(url, request, patience());
    }
    assert.ok(connections() < 6, `${connections()} connections`);
  });

  test('cannot redirect the request', async (t) => {
    const goal = await startSilentServer();
    t.after(() => goal.stop());
    const server = createServer(certificate, (_message, response) => {
      response.writeHead(307, { Location: `https://127.0.0.1:${goal.port}/` }).end();
    });
    const { url } = await startServer(t, server);
    assert.equal((await createTestEgress(t).post(url, request, patience())).status, 307);
    assert.equal(goal.connections, 0);
  });

  test('cannot send an endless body', async (t) => {
    let written = 0;
    const closed: Promise<void>[] = [];
    const server = createServer(certificate, (_message, response) => {
      closed.push(new Promise((resolve) => response.once('close', () => resolve())));
      const more = (): void => {
        while (!response.destroyed && written < 2 ** 28) {
          written += 65_536;
          if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', more);
        }
      };
      more();
    });
    const { url } = await startServer(t, server);
    assert.equal((await createTestEgress(t, { timeoutMs: 10_000 }).post(url, request, patience())).status, 200);
    await Promise.all(closed);
    assert.ok(written < 2 ** 26, `${written} bytes`);
  });

  test('has a deadline for the response, and another for its body', async (t) => {
    const silent = await startServer(
      t,
      createServer(certificate, () => undefined),
    );
    const egress = createTestEgress(t, { timeoutMs: 200 });
    const started = performance.now();
    await assert.rejects(egress.post(silent.url, request, patience()), EgressFailed);
    await assert.rejects(egress.post(silent.url, request, AbortSignal.abort()), EgressFailed);
    assert.ok(performance.now() - started < 1000);

    let isClosed = false;
    const dripping = await startServer(
      t,
      createServer(certificate, (_message, response) => {
        response.once('close', () => {
          isClosed = true;
        });
        response.write('a');
      }),
    );
    assert.equal((await egress.post(dripping.url, request, patience())).status, 200);
    await eventually('the end of the connection', 2000, () => isClosed, Boolean);
  });

  test('must use https, with a certificate for its name, on an address that was checked', async (t) => {
    const { url } = await startServer(
      t,
      createServer(certificate, (_message, response) => response.end()),
    );
    const egress = createTestEgress(t);
    assert.equal((await egress.post(new URL(`https://127.0.0.1:${url.port}/`), request, patience())).status, 200);

    const plain = new URL(`http://push.test:${url.port}/`);
    await assert.rejects(egress.post(plain, request, patience()), EgressRefused);
    await assert.rejects(
      egress.post(new URL(`https://a:b@push.test:${url.port}/`), request, patience()),
      EgressRefused,
    );
    await assert.rejects(egress.post(new URL(`https://other.test:${url.port}/`), request, patience()), EgressFailed);
    await assert.rejects(
      egress.post(new URL(`https://push.test:${await findFreePort()}/`), request, patience()),
      EgressFailed,
    );
    const stranger = createTestAuthority();
    t.after(() => stranger.remove());
    await assert.rejects(createTestEgress(t, { ca: [stranger.ca] }).post(url, request, patience()), EgressFailed);
    const moved = createTestEgress(t, { resolve: async () => [{ address: '127.0.0.1' }, { address: '10.1.1.1' }] });
    await assert.rejects(moved.post(url, request, patience()), EgressRefused);
  });

  test('that sends malformed responses fails like any other', async (t) => {
    const nonsense = [
      '220 ready\r\n',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
      '',
    ];
    for (const answer of [...nonsense, `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(50_000)}`]) {
      const server = await startTlsServer(certificate, (socket) => void socket.end(answer));
      t.after(() => server.stop());
      const failure = createTestEgress(t).post(new URL(`https://push.test:${server.port}/`), request, patience());
      await assert.rejects(failure, (error) => {
        assert.ok(error instanceof EgressFailed && !(error instanceof EgressRefused));
        assert.equal(error.message, 'The address could not be reached');
        assert.equal(error.cause, undefined);
        return true;
      });
    }
  });

  test('is resolved by the system if no resolver is given, and still checked', async (t) => {
    const egress = createEgress(nothing);
    t.after(() => egress.close());
    const sockets = await countSockets(async () => {
      const tries = Array.from({ length: 8 }, () => egress.connect('localhost', 443, patience()));
      await Promise.all(tries.map((each) => assert.rejects(each, EgressRefused)));
    });
    assert.equal(sockets, 0);
  });
});
