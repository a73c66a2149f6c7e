// Custom brokers named by a request: a real Mosquitto on wss, and malicious servers.
import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { after, before, suite, type TestContext, test } from 'node:test';
import type { CustomBroker } from '@tocsin/contract';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { findFreePort, Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import {
  type CountingServer,
  frame,
  startSilentServer,
  startTlsServer,
  startWebSocketServer,
} from '@tocsin/test-support/mqtt-hostile-server.ts';
import {
  mqttMessage,
  ownerId,
  patience,
  sampleMessage,
  sampleNotification,
} from '@tocsin/test-support/mqtt-messages.ts';
import { Subscriber } from '@tocsin/test-support/mqtt-subscriber.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { createTestAuthority, type IssuedCertificate, type TestAuthority } from '@tocsin/test-support/tls-ca.ts';
import { Aedes } from 'aedes';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { createCustomPublisher } from '../src/channels/mqtt/custom.ts';
import type { MqttPublisher } from '../src/channels/mqtt/publisher.ts';
import { createMqttSender } from '../src/channels/mqtt/sender.ts';
import { type AddressPolicy, parseNetwork } from '../src/core/address-policy.ts';
import { createEgress, type EgressOptions, type Resolve } from '../src/egress/index.ts';

const obstacle = mosquittoObstacle();
const notReached = { kind: 'rejected', reason: 'refused', error: 'Custom MQTT broker could not be reached' };
const secrets = { username: 'canary-user', password: 'canary-word' };

let authority: TestAuthority;
let certificate: IssuedCertificate;
before(() => {
  authority = createTestAuthority();
  certificate = authority.issue('DNS:broker.test', 'IP:127.0.0.1');
});
after(() => authority.remove());

const allow = (...networks: string[]): AddressPolicy => ({
  allowed: networks.map((text) => parseNetwork(text) ?? assert.fail(text)),
});
const loopback = allow('127.0.0.1/32');
const resolveTo =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map((address) => ({ address }));

function brokerAt(port: number, more: Partial<CustomBroker> = {}): CustomBroker {
  const defaults = { username: null, password: null, clientId: null, topic: null };
  return { host: 'broker.test', port, path: '/mqtt', ...defaults, ...more };
}

function createPublisher(
  t: TestContext,
  options: EgressOptions & { policy?: AddressPolicy; deadlineMs?: number } = {},
) {
  const { policy = loopback, deadlineMs = 5000, ...egressOptions } = options;
  const egress = createEgress(policy, { ca: [authority.ca], resolve: resolveTo('127.0.0.1'), ...egressOptions });
  t.after(() => egress.close());
  const { publish } = createCustomPublisher(async () => egress, { now: Date.now });
  const publishInTime: typeof publish = (broker, messages, signal, ownerId) =>
    publish(broker, messages, AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]), ownerId);
  return { publish: publishInTime };
}

async function stopAfter<T extends { stop(): unknown }>(t: TestContext, starting: Promise<T>): Promise<T> {
  const started = await starting;
  t.after(async () => {
    await started.stop();
  });
  return started;
}

/** Starts Mosquitto with a WebSocket listener on TLS besides its plain one. */
async function startMosquitto(t: TestContext, options: { acl?: string[]; users?: Record<string, string> } = {}) {
  const wssPort = await findFreePort();
  const { certFile, keyFile } = certificate;
  const settings = [`listener ${wssPort}`, 'protocol websockets', `certfile ${certFile}`, `keyfile ${keyFile}`];
  return { mosquitto: await stopAfter(t, Mosquitto.start({ settings, ...options })), wssPort };
}

suite('A custom broker', () => {
  const silentPublisher: MqttPublisher = {
    publish: async () => assert.fail('the platform broker was used'),
    check: async () => null,
    close: async () => undefined,
  };

  test('gets the notification on its topic, or on the topics of the devices', async (t) => {
    if (!canRun(t, obstacle)) return;
    const { mosquitto, wssPort } = await startMosquitto(t, { users: { caller: 'word', receiver: 'other' } });
    const login = ['-u', 'receiver', '-P', 'other', '-V', '5'];
    const subscriber = await stopAfter(t, Subscriber.start(mosquitto.port, '#', login));
    const channel = createMqttSender({
      publisher: silentPublisher,
      custom: createPublisher(t),
      topicPrefix: 'tocsin',
      retentionDays: 36_500,
    });
    const customBroker = brokerAt(wssPort, { username: 'caller', password: 'word', clientId: 'my-client' });
    const onTopic = await channel.send(
      sampleNotification,
      [{ id: '', topic: 'my/own/topic' }],
      { qos: 1, customBroker: { ...customBroker, topic: 'my/own/topic' } },
      patience(),
    );
    assert.deepEqual(onTopic, [{ kind: 'sent' }]);
    const targets = [{ id: 'lamp' }, { id: 'siren' }];
    const onDevices = await channel.send(sampleNotification, targets, { qos: 2, customBroker }, patience());
    assert.deepEqual(onDevices, [{ kind: 'sent' }, { kind: 'sent' }]);
    const received = await subscriber.take(3);
    assert.deepEqual(received.map(({ topic }) => topic).sort(), [
      'my/own/topic',
      `tocsin/${ownerId}/lamp/notifications`,
      `tocsin/${ownerId}/siren/notifications`,
    ]);
    for (const { payload, contentType, retained } of received) {
      assert.deepEqual(JSON.parse(payload), sampleMessage);
      assert.equal(contentType, 'application/json');
      assert.equal(retained, false);
    }
  });

  test('may support only MQTT 3.1.1, and is disconnected after the request', async (t) => {
    const aedes = await Aedes.createBroker();
    t.after(() => new Promise<void>((closed) => aedes.close(closed)));
    aedes.authenticate = (_client, username, password, done) =>
      done(null, username === 'caller' && password?.toString() === 'word');
    const received: string[] = [];
    aedes.on('publish', ({ payload }, client) => client !== null && received.push(payload.toString()));
    const webSockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'mqtt' });
    const server = createServer({ cert: certificate.cert, key: certificate.key });
    const open = new Set<Socket>();
    server.on('secureConnection', (socket: Socket) => {
      open.add(socket.once('close', () => open.delete(socket)));
    });
    server.on('upgrade', (request, socket, head) =>
      webSockets.handleUpgrade(request, socket, head, (ws) => void aedes.handle(createWebSocketStream(ws), request)),
    );
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    t.after(() => server.close());
    const { port } = server.address() as { port: number };

    const publisher = createPublisher(t);
    const broker = brokerAt(port, { username: 'caller', password: 'word' });
    for (const qos of [0, 1, 2] as const) {
      const outcomes = await publisher.publish(broker, [mqttMessage('a', `with QoS ${qos}`, qos)], patience());
      assert.deepEqual(outcomes, [{ kind: 'sent' }]);
    }
    await eventually(
      'three messages',
      5000,
      () => received.length,
      (count) => count === 3,
    );
    assert.deepEqual(received.sort(), ['with QoS 0', 'with QoS 1', 'with QoS 2']);
    await eventually(
      'no connection left',
      5000,
      () => open.size,
      (count) => count === 0,
    );

    const wrong = await publisher.publish(brokerAt(port, secrets), [mqttMessage('a', 'b')], patience());
    assert.deepEqual(wrong, [notReached]);
    await eventually(
      'no connection left',
      5000,
      () => open.size,
      (count) => count === 0,
    );
    assert.equal(aedes.connectedClients, 0);
  });

  test('may refuse one message and accept another', async (t) => {
    if (!canRun(t, obstacle)) return;
    const { wssPort } = await startMosquitto(t, { acl: ['topic readwrite allowed/#'] });
    const messages = [mqttMessage('allowed/a', 'b'), mqttMessage('denied/a', 'b'), mqttMessage('denied/a', 'b', 2)];
    const outcomes = await createPublisher(t).publish(brokerAt(wssPort), messages, patience());
    const refused = { kind: 'rejected', reason: 'refused', error: 'Custom MQTT broker refused the message' };
    assert.deepEqual(outcomes, [{ kind: 'sent' }, refused, refused]);
  });

  test('is never retried, whatever wraps the channel', async () => {
    const channel = createMqttSender({
      publisher: silentPublisher,
      custom: { publish: async () => assert.fail('the guard rejects everything') },
      topicPrefix: 'tocsin',
      retentionDays: 90,
      guards: {
        own: (guarded) => guarded,
        custom: () => ({
          send: async () => [{ kind: 'retry', reason: 'deferred', error: 'too much is waiting' }, { kind: 'sent' }],
        }),
      },
    });
    const targets = [{ id: 'lamp' }, { id: 'siren' }];
    const outcomes = await channel.send(sampleNotification, targets, { qos: 1, customBroker: brokerAt(1) }, patience());
    assert.deepEqual(outcomes, [notReached, { kind: 'sent' }]);
  });

  test('fails for all messages alike if the credentials are wrong', async (t) => {
    if (!canRun(t, obstacle)) return;
    const { wssPort } = await startMosquitto(t, { users: { caller: 'word' } });
    const messages = [mqttMessage('a', '1'), mqttMessage('a', '2')];
    const outcomes = await createPublisher(t).publish(brokerAt(wssPort, secrets), messages, patience());
    assert.deepEqual(outcomes, [notReached, notReached]);
  });
});

suite('Every way in which a custom broker cannot be reached gives the same error:', () => {
  /** Publishes with canary credentials and compares the whole outcome, so that the cause cannot leak. */
  async function expectNotReached(
    t: TestContext,
    broker: Partial<CustomBroker> & { port: number },
    options: Parameters<typeof createPublisher>[1] = {},
    signal = patience(),
  ): Promise<void> {
    const publisher = createPublisher(t, { deadlineMs: 400, ...options });
    const started = performance.now();
    const outcomes = await publisher.publish(
      brokerAt(broker.port, { ...secrets, ...broker }),
      [mqttMessage('a', 'b')],
      signal,
    );
    assert.deepEqual(outcomes, [notReached]);
    // Well before the 10 s timeout of some of them, also on a busy machine.
    assert.ok(performance.now() - started < 8000);
  }

  const connack = Buffer.from([0x20, 3, 0, 0, 0]);
  const wellBehaved = (): Promise<CountingServer> =>
    startWebSocketServer(certificate, (socket) => void socket.write(frame(connack)));

  /** Terminates TLS and counts the clients that send anything after it. */
  async function startListening(t: TestContext, own = certificate) {
    const heard: string[] = [];
    const server = await stopAfter(
      t,
      startTlsServer(own, (_socket, head) => heard.push(head)),
    );
    return { server, heard };
  }

  test('a certificate of an unknown authority, to which nothing is sent', async (t) => {
    const { server, heard } = await startListening(t);
    const stranger = createTestAuthority();
    t.after(() => stranger.remove());
    await expectNotReached(t, server, { ca: [stranger.ca] });
    assert.equal(server.connections, 1);
    assert.deepEqual(heard, []);
  });

  test('a certificate for another name or another address, to which nothing is sent', async (t) => {
    const named = await startListening(t);
    await expectNotReached(t, { port: named.server.port, host: 'other.test' });
    const addressed = await startListening(t, authority.issue('IP:127.0.0.9'));
    await expectNotReached(t, { port: addressed.server.port, host: '127.0.0.1' });
    assert.equal(named.server.connections + addressed.server.connections, 2);
    assert.deepEqual([...named.heard, ...addressed.heard], []);
  });

  test('a closed port', async (t) => {
    await expectNotReached(t, { port: await findFreePort() });
  });

  test('a port that never responds', async (t) => {
    const server = await stopAfter(t, startSilentServer());
    await expectNotReached(t, server);
    assert.equal(server.connections, 1);
  });

  test('a server that stays silent after TLS, after the upgrade, or after CONNACK', async (t) => {
    const stages = [
      startTlsServer(certificate, () => undefined),
      startWebSocketServer(certificate, () => undefined),
      wellBehaved(),
    ];
    for (const stage of stages) {
      const server = await stopAfter(t, stage);
      await expectNotReached(t, server);
      assert.equal(server.connections, 1);
    }
  });

  test('a request that was aborted meanwhile, or before', async (t) => {
    const server = await stopAfter(t, wellBehaved());
    await expectNotReached(t, server, { deadlineMs: 60_000 }, AbortSignal.timeout(100));
    assert.equal(server.connections, 1);
    await expectNotReached(t, server, { deadlineMs: 60_000 }, AbortSignal.abort());
    assert.equal(server.connections, 1);
  });

  for (const status of [301, 302, 303, 307, 308]) {
    test(`a redirect with ${status}, which is not followed`, async (t) => {
      const goal = await stopAfter(t, wellBehaved());
      const server = await stopAfter(
        t,
        startTlsServer(certificate, (socket) =>
          socket.end(
            `HTTP/1.1 ${status} Found\r\nLocation: wss://127.0.0.1:${goal.port}/\r\nContent-Length: 0\r\n\r\n`,
          ),
        ),
      );
      await expectNotReached(t, server);
      assert.equal(goal.connections, 0);
      assert.ok(server.connections > 0);
    });
  }

  const answers: Record<string, string> = {
    'a web server that does not upgrade': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi',
    'a wrong accept key':
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: eA==\r\n\r\n',
    'something that is not HTTP': '220 mail.example.com ESMTP\r\n',
    'endless headers': `HTTP/1.1 101 Switching Protocols\r\n${'X: y\r\n'.repeat(100_000)}`,
  };
  for (const [what, answer] of Object.entries(answers)) {
    test(what, async (t) => {
      const server = await stopAfter(
        t,
        startTlsServer(certificate, (socket) => void socket.write(answer)),
      );
      await expectNotReached(t, server);
      assert.ok(server.connections > 0);
    });
  }

  const mib = 1024 * 1024;
  /** Writes as long as the peer reads, and counts the bytes that were accepted. */
  function flood(socket: Socket, chunk: Buffer, taken: { bytes: number }): void {
    const more = (): void => {
      while (!socket.destroyed && taken.bytes < 512 * mib) {
        taken.bytes += chunk.length;
        if (!socket.write(chunk)) return void socket.once('drain', more);
      }
    };
    more();
  }
  const hostile: Record<string, { first: Buffer; rest: Buffer }> = {
    'a frame that announces 50 MiB': { first: frame(Buffer.alloc(0), 50 * mib), rest: Buffer.alloc(mib) },
    'a frame just over the limit': { first: frame(Buffer.alloc(64 * 1024 + 1)), rest: Buffer.alloc(0) },
    'an MQTT packet of 256 MiB in small frames': {
      first: frame(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f])),
      rest: frame(Buffer.alloc(32 * 1024)),
    },
    'endless messages after a valid start': {
      first: frame(connack),
      rest: frame(Buffer.from([0x30, 4, 0, 1, 0x61, 0])),
    },
    'endless WebSocket pings': {
      first: Buffer.alloc(0),
      rest: Buffer.concat(Array(100).fill(Buffer.from([0x89, 0]))),
    },
    'endless fragments': {
      first: Buffer.from([0x02, 1, 0]),
      rest: Buffer.concat(Array(100).fill(Buffer.from([0x00, 1, 0]))),
    },
    'garbage frames': { first: Buffer.alloc(4096, 0xff), rest: Buffer.alloc(4096, 0xff) },
  };
  /** These pings have minimal size, and end only at the deadline. */
  const endWithDeadline = new Set(['endless WebSocket pings']);
  for (const [what, { first, rest }] of Object.entries(hostile)) {
    test(`${what}, of which little is read`, async (t) => {
      const taken = { bytes: 0 };
      const server = await stopAfter(
        t,
        startWebSocketServer(certificate, (socket) => {
          socket.write(first);
          if (rest.length > 0) flood(socket, rest, taken);
        }),
      );
      await expectNotReached(t, server, { deadlineMs: endWithDeadline.has(what) ? 400 : 10_000 });
      assert.ok(server.connections > 0);
      assert.ok(taken.bytes < 16 * mib, `${taken.bytes} bytes were read`);
    });
  }

  const answersOfResolvers: Record<string, string[]> = {
    'a name that resolves to a private address': ['10.0.0.1'],
    'a name that resolves to the metadata address of a cloud': ['169.254.169.254'],
    'a name with one allowed and one forbidden address': ['127.0.0.1', '10.0.0.1'],
    'a name with one forbidden address in IPv6 notation': ['127.0.0.1', '::ffff:10.0.0.1'],
    'a name that resolves to ::1': ['::1'],
    'a name without an address': [],
    'a name that resolves to something other than an address': ['127.0.0.1', 'localhost'],
    'a name that resolves to an address with an interface': ['2606:4700::1111%lo'],
  };
  for (const [what, addresses] of Object.entries(answersOfResolvers)) {
    test(`${what}, and no connection is made`, async (t) => {
      const server = await stopAfter(t, startSilentServer('::'));
      await expectNotReached(t, server, { resolve: resolveTo(...addresses) });
      assert.equal(server.connections, 0);
    });
  }

  test('a name server that fails or does not respond', async (t) => {
    const server = await stopAfter(t, startSilentServer('::'));
    await expectNotReached(t, server, { resolve: () => Promise.reject(new Error('SERVFAIL')) });
    await expectNotReached(t, server, { resolve: () => new Promise(() => undefined) });
    assert.equal(server.connections, 0);
  });

  test('a name that changes its address after the check: the checked address is dialled', async (t) => {
    // 127.0.0.2 stands for a public address here, and everything else is forbidden.
    const checked = await stopAfter(t, startSilentServer('127.0.0.2'));
    const inner = await stopAfter(t, startSilentServer('127.0.0.1', checked.port));
    let asked = 0;
    const rebinding: Resolve = async () => [{ address: asked++ === 0 ? '127.0.0.2' : '127.0.0.1' }];
    await expectNotReached(t, checked, { policy: allow('127.0.0.2/32'), resolve: rebinding });
    await expectNotReached(t, checked, { policy: allow('127.0.0.2/32'), resolve: rebinding });
    assert.equal(checked.connections, 1);
    assert.equal(inner.connections, 0);
    assert.equal(asked, 2);
  });

  test('an empty policy, which forbids loopback like the rest', async (t) => {
    const server = await stopAfter(t, startSilentServer('::'));
    for (const host of ['127.0.0.1', '[::1]', 'localhost', 'broker.test']) {
      await expectNotReached(t, { port: server.port, host }, { policy: allow() });
    }
    assert.equal(server.connections, 0);
  });
});
