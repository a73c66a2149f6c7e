// Requests before their fields are read, and the order of checks: methods, paths, CORS, sizes, and malformed HTTP.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { type LocalGateway, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import { rawRequest } from '@tocsin/test-support/raw-request.ts';
import { type Caller, createCaller, send } from '@tocsin/test-support/requests.ts';
import { channels } from '../src/channels/registry.ts';

suite('The public API', () => {
  let gateway: LocalGateway;
  let caller: Caller;
  const maxBodyBytes = 4096;

  before(async () => {
    gateway = await startLocalGateway({ maxBodyBytes, timeouts: { headersMs: 300, requestMs: 600 } });
    caller = await createCaller(gateway.api, gateway.key);
  });
  after(() => gateway.stop());

  const validPost = (title: string): string => {
    const body = JSON.stringify({ title });
    return `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${gateway.key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };

  function openSocket(text: string): Socket {
    const { hostname, port } = new URL(gateway.api);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(text);
    return socket;
  }

  const answerOn = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0]);

  test('describes itself on GET', async () => {
    const { status, headers, body } = await caller.send<Record<string, unknown>>({});
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'application/json');
    assert.equal(body.ok, true);
    assert.equal(body.kind, 'endpoint_metadata');
    assert.equal(body.version, '0.0.0-test');
    assert.deepEqual(body.contentTypes, ['application/json', 'application/x-www-form-urlencoded', 'text/plain']);
    assert.equal((body.limits as Record<string, number>).requestBytes, maxBodyBytes);
    assert.deepEqual(
      body.channels,
      channels.map(({ name }) => name),
    );
    assert.ok(!JSON.stringify(body).includes('127.0.0.1'));
  });

  test('serves the OpenAPI document for format=openapi, and the metadata for any other format', async () => {
    const { body: document } = await caller.send<{ openapi: string }>({ path: '?format=openapi' });
    assert.match(document.openapi, /^3\.1\./);
    for (const path of ['?format=xml', '?format=', '?other=openapi', '?format=OPENAPI']) {
      const { body } = await caller.send<{ kind: string }>({ path });
      assert.equal(body.kind, 'endpoint_metadata', path);
    }
  });

  test('answers HEAD as GET, without a body', async () => {
    const head = await caller.send<null>({ method: 'HEAD' });
    const get = await fetch(gateway.api);
    assert.equal(head.status, 200);
    assert.equal(head.body, null);
    assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
    assert.equal(head.headers.get('content-type'), 'application/json');
  });

  test('answers the CORS preflight', async () => {
    const { status, headers, body } = await caller.send<null>({
      method: 'OPTIONS',
      headers: { Origin: 'https://example.com', 'Access-Control-Request-Method': 'POST' },
    });
    assert.equal(status, 204);
    assert.equal(body, null);
    assert.equal(headers.get('access-control-allow-origin'), '*');
    assert.equal(headers.get('access-control-allow-methods'), 'GET, POST, OPTIONS');
    assert.equal(
      headers.get('access-control-allow-headers'),
      'Authorization, Content-Type, X-API-Key, X-SERVICE-Key, X-Timestamp, X-Signature, Idempotency-Key',
    );
    assert.equal(headers.get('access-control-max-age'), '86400');
    assert.equal(headers.get('access-control-allow-credentials'), null);
  });

  test('exposes its headers to pages, on success and on errors', async () => {
    for (const { headers } of [
      await caller.notify({ title: 'x' }),
      await caller.notify({}),
      await caller.send({ path: '/no' }),
    ]) {
      const exposed = headers.get('access-control-expose-headers');
      assert.equal(exposed, 'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed');
    }
  });

  for (const target of ['/x', '/index.html', '/.', '//', '/%2f', '/?x/../y', '/healthz', '*', 'http://x/y']) {
    const isKnown = target === '/?x/../y';
    test(`${isKnown ? 'serves' : 'responds with 404 to'} ${target}`, async () => {
      const text = `${target === '*' ? 'OPTIONS' : 'GET'} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
      const { status, body } = await rawRequest(gateway.api, text);
      assert.equal(status, isKnown ? 200 : 404);
      assert.equal(body?.error, isKnown ? undefined : 'Not found');
    });
  }

  test('serves an absolute-form request target, as proxies send it', async () => {
    for (const target of [
      'http://tocsin.example.com/',
      'http://tocsin.example.com',
      'http://tocsin.example.com?format=openapi',
    ]) {
      const text = `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
      assert.equal((await rawRequest(gateway.api, text)).status, 200, target);
    }
  });

  for (const method of ['PUT', 'DELETE', 'PATCH', 'PROPFIND']) {
    test(`refuses ${method} and lists the allowed methods`, async () => {
      const { status, headers, body } = await caller.send({ method });
      assert.equal(status, 405);
      assert.equal(headers.get('allow'), 'GET, HEAD, POST, OPTIONS');
      assert.equal(body.error, 'Method not allowed');
      assert.equal(body.code, 'method_not_allowed');
    });
  }

  test('checks path, then method, then size, then key, then content type, then body, then device', async () => {
    const big = 'x'.repeat(maxBodyBytes + 1);
    const wrong = { 'X-API-Key': 'svc_wrong-wrong-wrong', 'Content-Type': 'application/xml' };
    const right = { 'X-API-Key': gateway.key };
    const code = async (request: Parameters<Caller['send']>[0]) => (await caller.send(request)).body.code;
    assert.equal(await code({ method: 'PUT', path: '/x.y', body: big, headers: wrong }), 'not_found');
    assert.equal(await code({ method: 'PUT', body: big, headers: wrong }), 'method_not_allowed');
    assert.equal(await code({ method: 'POST', body: big, headers: wrong }), 'body_too_large');
    assert.equal(await code({ method: 'POST', body: '{', headers: wrong }), 'invalid_api_key');
    assert.equal(
      await code({ method: 'POST', body: '{', headers: { ...wrong, ...right } }),
      'unsupported_content_type',
    );
    const json = { ...right, 'Content-Type': 'application/json' };
    assert.equal(await code({ method: 'POST', body: '{', headers: json }), 'invalid_body');
    assert.equal(await code({ method: 'POST', body: '{"mqttQos":9,"deviceId":"no"}', headers: json }), 'invalid_body');
    assert.equal(await code({ method: 'POST', body: '{"deviceId":"no"}', headers: json }), 'empty_payload');
    assert.equal(
      await code({ method: 'POST', body: '{"title":"x","deviceId":"no"}', headers: json }),
      'device_not_found',
    );
    assert.equal((await gateway.store.notifications.list(gateway.ownerId, { limit: 10 })).notifications.length, 1);
  });

  test('accepts a body of exactly the limit, and refuses one byte more, with and without a declared length', async () => {
    const filled = (bytes: number): string => {
      const frame = JSON.stringify({ title: 'x', filler: '' });
      return frame.replace('""', `"${'f'.repeat(bytes - frame.length)}"`);
    };
    assert.equal((await caller.notify(filled(maxBodyBytes))).status, 200);
    const declared = await caller.notify(filled(maxBodyBytes + 1));
    assert.equal(declared.status, 413);
    assert.equal(declared.body.error, 'Request body too large');
    assert.equal(declared.body.code, 'body_too_large');
    const head = `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${gateway.key}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
    const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
    const chunks = [chunk(filled(maxBodyBytes)), chunk('x'), '0\r\n\r\n'];
    assert.equal((await rawRequest(gateway.api, head, ...chunks)).status, 413);
  });

  test('refuses an endless body at the first byte over the limit, and disconnects a client that keeps sending', async () => {
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n`;
    const { status, body } = await rawRequest(
      gateway.api,
      head,
      ...Array.from({ length: 80 }, () => Buffer.alloc(65_536)),
    );
    assert.equal(status, 413);
    assert.equal(body?.code, 'body_too_large');
  });

  test('refuses a too large body at once if the client waits for 100 Continue', async () => {
    const head = `POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 999999\r\nConnection: close\r\n\r\n`;
    assert.equal((await rawRequest(gateway.api, head)).status, 413);
  });

  test('refuses a request without a valid key before its body has arrived', async () => {
    for (const key of ['', 'X-API-Key: svc_unknown\r\n']) {
      const head = `POST / HTTP/1.1\r\nHost: x\r\n${key}Content-Length: 4096\r\n\r\n`;
      const socket = openSocket(`${head}{`);
      assert.match(await answerOn(socket), /^HTTP\/1\.1 401 /);
      // The rest of the body is discarded, and the connection stays usable.
      socket.write(`${'x'.repeat(4095)}${validPost('after a refusal')}`);
      assert.match(await answerOn(socket), /^HTTP\/1\.1 200 /);
      socket.destroy();
    }
  });

  test('sends no second response when the body of a refused request never arrives', async () => {
    const socket = openSocket('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4096\r\n\r\n{');
    let answers = '';
    socket.on('data', (chunk) => {
      answers += String(chunk);
    });
    await once(socket, 'close');
    assert.deepEqual(answers.match(/^HTTP\/1\.1 \d+/gm), ['HTTP/1.1 401']);
  });

  test('checks the size of a chunked body before the key', async () => {
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n';
    const piece = (bytes: number): string => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;
    const fits = await rawRequest(gateway.api, head, piece(2048), piece(2048), '0\r\n\r\n');
    assert.equal(fits.body?.code, 'authorization_required');
    const larger = await rawRequest(gateway.api, head, piece(2048), piece(2049), '0\r\n\r\n');
    assert.equal(larger.body?.code, 'body_too_large');
  });

  test('sends 100 Continue only if the key is valid', async () => {
    const expecting = (key: string): string =>
      `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nExpect: 100-continue\r\nContent-Length: 13\r\n\r\n`;
    const refused = openSocket(expecting('svc_unknown'));
    assert.match(await answerOn(refused), /^HTTP\/1\.1 401 /);
    refused.destroy();
    const accepted = openSocket(expecting(gateway.key));
    assert.match(await answerOn(accepted), /^HTTP\/1\.1 100 Continue\r\n/);
    accepted.write('{"title":"x"}');
    assert.match(await answerOn(accepted), /^HTTP\/1\.1 200 /);
    accepted.destroy();
  });

  for (const [what, headers, status] of [
    ['too large', 'Content-Length: 262149', 413],
    ['without a key', 'Content-Length: 100', 401],
  ] as const) {
    test(`closes the connection if a request with Upgrade is refused early: ${what}`, async () => {
      const head = `POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n${headers}\r\n\r\n`;
      const answer = await rawRequest(gateway.api, head, 'x');
      assert.equal(answer.status, status);
      assert.equal(answer.headers.connection, 'close');
    });
  }

  test('forbids browsers to sniff another content type', async () => {
    for (const text of ['GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 'no HTTP\r\n\r\n']) {
      const { headers } = await rawRequest(gateway.api, text);
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['strict-transport-security'], undefined);
    }
  });

  test('refuses compressed bodies', async () => {
    for (const encoding of ['gzip', 'br', 'deflate', 'zstd']) {
      const { status, body } = await caller.notify(Buffer.from([31, 139]), { 'Content-Encoding': encoding });
      assert.equal(status, 415);
      assert.equal(body.error, 'Unsupported content type');
      assert.equal(body.code, 'unsupported_content_type');
    }
  });

  test('refuses invalid UTF-8 with 400', async () => {
    const { status, body } = await caller.notify(Buffer.from([0x22, 0xc3, 0x28]));
    assert.equal(status, 400);
    assert.equal(body.code, 'invalid_body');
  });

  for (const [what, text] of [
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['a length that is no number', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'a length together with chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['chunks without a size', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['a header with a line break', 'POST / HTTP/1.1\r\nHost: x\r\nX-A: a\nb\r\n\r\n'],
    ['headers of 64 KiB', `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(65_536)}\r\n\r\n`],
  ] as const) {
    test(`answers ${what} with 400 and CORS headers, and closes`, async () => {
      const { status, headers, body } = await rawRequest(gateway.api, text);
      assert.equal(status, 400);
      assert.equal(body?.ok, false);
      assert.equal(body?.code, 'invalid_body');
      assert.equal(headers['access-control-allow-origin'], '*');
    });
  }

  test('answers a client whose headers or body do not arrive in time with 408', async () => {
    for (const text of [
      'POST / HTTP/1.1\r\nHost: x\r\n',
      `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${gateway.key}\r\nContent-Length: 100\r\n\r\n{"title":`,
    ]) {
      const { status, headers, body } = await rawRequest(gateway.api, text);
      assert.equal(status, 408);
      assert.equal(body?.error, 'Request timeout');
      assert.equal(body?.code, 'request_timeout');
      assert.equal(headers['access-control-allow-origin'], '*');
    }
  });

  test('formats errors that Node would send itself like all others', async () => {
    const noHost = await rawRequest(gateway.api, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n');
    assert.equal(noHost.status, 400);
    assert.equal(noHost.body?.code, 'invalid_body');
    const twoHosts = await rawRequest(gateway.api, 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n');
    assert.equal(twoHosts.status, 400);
    const old = await rawRequest(gateway.api, 'GET / HTTP/1.0\r\n\r\n');
    assert.equal(old.status, 200);
    const expecting = await rawRequest(
      gateway.api,
      'GET / HTTP/1.1\r\nHost: x\r\nExpect: banana\r\nConnection: close\r\n\r\n',
    );
    assert.equal(expecting.status, 200);
    const tunnel = await rawRequest(gateway.api, 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.equal(tunnel.status, 405);
    assert.equal(tunnel.body?.code, 'method_not_allowed');
  });

  test('responds to a client that half-closes its connection after sending', async () => {
    const { hostname, port } = new URL(gateway.api);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.end(validPost('half-closed'));
    const [answer] = await once(socket, 'data');
    socket.destroy();
    assert.match(String(answer), /^HTTP\/1\.1 200 /);
  });

  test('responds to a valid request before it closes the connection because of the garbage that follows', async () => {
    const { status } = await rawRequest(gateway.api, `${validPost('before garbage')}GARBAGE\r\n\r\n`);
    assert.equal(status, 200);
  });

  test('does not wait for the body of a request to an unknown path', async () => {
    const { status } = await rawRequest(gateway.api, 'POST /x.y HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n');
    assert.equal(status, 404);
  });

  test('refuses a compressed transfer coding', async () => {
    const head = `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${gateway.key}\r\nTransfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n`;
    assert.equal((await rawRequest(gateway.api, `${head}5\r\nhello\r\n0\r\n\r\n`)).status, 415);
  });

  test('keeps the connection open between requests, and answers pipelined requests in order', async () => {
    const one = (title: string, close = false): string => {
      const body = JSON.stringify({ title });
      return `POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: ${gateway.key}\r\nContent-Length: ${body.length}\r\n${close ? 'Connection: close\r\n' : ''}\r\n${body}`;
    };
    const before = (await gateway.store.notifications.list(gateway.ownerId, { limit: 100 })).notifications.length;
    const { status } = await rawRequest(gateway.api, one('a') + one('b') + one('c', true));
    assert.equal(status, 200);
    const { notifications } = await gateway.store.notifications.list(gateway.ownerId, { limit: 100 });
    assert.equal(notifications.length, before + 3);
  });

  test('has the same request id in the body and in X-Request-Id, on errors too', async () => {
    const { headers, body } = await caller.notify({});
    assert.equal(headers.get('x-request-id'), body.requestId);
    assert.ok(!Number.isNaN(Date.parse(body.timestamp)));
  });

  test('had no internal error in all of these tests', async () => {
    await send(gateway.api, {});
    assert.deepEqual(gateway.failures, []);
  });
});
