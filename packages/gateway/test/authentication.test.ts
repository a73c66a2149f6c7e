// Authentication over HTTP: keys, allowed domains, signatures, expiry and revocation.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sign } from '@tocsin/contract';
import origins from '@tocsin/contract/fixtures/origin-policy.json' with { type: 'json' };
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type LocalGateway, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import { rawRequest } from '@tocsin/test-support/raw-request.ts';
import { type Caller, createCaller } from '@tocsin/test-support/requests.ts';
import { createKey as newKeyValue } from '../src/core/key-format.ts';
import { type Store, StoreUnavailable } from '../src/usecases/ports/index.ts';
import { createKey, createOwner, systemEnvironment } from '../src/usecases/registration.ts';

type KeyWishes = Partial<Parameters<typeof createKey>[2]>;

suite('Authentication', () => {
  let gateway: LocalGateway;
  let caller: Caller;
  let reads = 0;
  let isDown = false;

  /** Counts key look-ups, and can be made unreachable. */
  function observe(store: Store): Store {
    const guard = <A extends unknown[], R>(method: (...args: A) => Promise<R>) => {
      return async (...args: A): Promise<R> => {
        if (isDown) throw new StoreUnavailable('stopped by the test');
        return method(...args);
      };
    };
    return {
      ...store,
      keys: {
        ...store.keys,
        find: guard((digest: string) => {
          reads += 1;
          return store.keys.find(digest);
        }),
      },
      changes: { ...store.changes, read: guard(store.changes.read) },
      owners: { ...store.owners, recipientsOf: guard(store.owners.recipientsOf) },
      signatures: { claim: guard(store.signatures.claim) },
    };
  }

  before(async () => {
    gateway = await startLocalGateway({ wrapStore: observe });
    caller = await createCaller(gateway.api, gateway.key);
  });
  after(() => gateway.stop());

  async function keyWith(wishes: KeyWishes): Promise<string> {
    const { value } = await createKey(gateway.store, systemEnvironment, {
      ownerId: gateway.ownerId,
      type: 'public_client',
      ...wishes,
    });
    return value;
  }

  const post = (headers: Record<string, string>, body = '{"title":"x"}') =>
    caller.send({ method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body });

  test('reads the key from Authorization, X-API-Key or X-SERVICE-Key', async () => {
    assert.equal((await post({ Authorization: `Bearer ${gateway.key}` })).status, 200);
    assert.equal((await post({ 'X-API-Key': gateway.key })).status, 200);
    assert.equal((await post({ 'X-SERVICE-Key': gateway.key })).status, 200);
  });

  test('accepts the scheme Bearer in any case', async () => {
    for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
      assert.equal((await post({ Authorization: `${scheme} ${gateway.key}` })).status, 200);
    }
  });

  test('refuses a request without a key', async () => {
    const { status, body } = await post({});
    assert.equal(status, 401);
    assert.equal(body.error, 'Authorization required');
    assert.equal(body.code, 'authorization_required');
  });

  test('treats a blank header, or another scheme, as no key', async () => {
    for (const headers of [
      { Authorization: '' },
      { Authorization: 'Bearer' },
      { Authorization: 'Bearer  ' },
      { Authorization: `Basic ${gateway.key}` },
      { Authorization: gateway.key },
      { 'X-API-Key': ' ' },
      { 'X-SERVICE-Key': '' },
    ] as Record<string, string>[]) {
      assert.equal((await post(headers)).body.code, 'authorization_required', JSON.stringify(headers));
    }
  });

  test('treats the same key in two headers as one, and ignores blank headers', async () => {
    const headers = { Authorization: `Bearer ${gateway.key}`, 'X-API-Key': gateway.key, 'X-SERVICE-Key': ' ' };
    assert.equal((await post(headers)).status, 200);
  });

  test('refuses two different keys and names the reason', async () => {
    const other = await keyWith({});
    const { status, body } = await post({ Authorization: `Bearer ${gateway.key}`, 'X-API-Key': other });
    assert.equal(status, 401);
    assert.equal(body.code, 'authorization_required');
    assert.equal(body.details?.length, 1);
  });

  test('refuses two different keys in one header sent twice', async () => {
    const other = await keyWith({});
    for (const [first, second] of [
      [`Authorization: Bearer ${gateway.key}`, `Authorization: Bearer ${other}`],
      [`X-API-Key: ${gateway.key}`, `X-API-Key: ${other}`],
    ]) {
      const answer = await rawRequest(
        gateway.api,
        `POST / HTTP/1.1\r\nHost: x\r\n${first}\r\n${second}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi`,
      );
      assert.equal(answer.status, 401);
      assert.equal(answer.body?.code, 'authorization_required');
    }
  });

  test('refuses an unknown, a revoked and an expired key with the same response', async () => {
    const revoked = await createKey(gateway.store, systemEnvironment, {
      ownerId: gateway.ownerId,
      type: 'public_client',
    });
    await gateway.store.keys.revoke(revoked.key.id, 1);
    const expired = await keyWith({ expiresAt: gateway.clock.now });
    for (const key of [
      newKeyValue(systemEnvironment.randomIndex),
      revoked.value,
      expired,
      'svc_',
      'x',
      'nothing like a key',
    ]) {
      const { status, body } = await post({ 'X-API-Key': key });
      assert.equal(status, 401);
      assert.equal(body.error, 'Invalid API key');
      assert.equal(body.code, 'invalid_api_key');
    }
  });

  test('accepts a key until it expires, and not afterwards', async () => {
    const key = await keyWith({ expiresAt: gateway.clock.now + 1000 });
    assert.equal((await post({ 'X-API-Key': key })).status, 200);
    gateway.clock.now += 1000;
    assert.equal((await post({ 'X-API-Key': key })).body.code, 'invalid_api_key');
  });

  test('accepts the types public_client and internal_service, and names the refused type', async () => {
    for (const type of ['public_client', 'internal_service'] as const) {
      assert.equal((await post({ 'X-API-Key': await keyWith({ type }) })).status, 200);
    }
    for (const type of ['site_server', 'headless_server'] as const) {
      const { status, body } = await post({ 'X-API-Key': await keyWith({ type }) });
      assert.equal(status, 401);
      assert.equal(body.error, `API key type not allowed for this endpoint: ${type}`);
      assert.equal(body.code, 'key_type_not_allowed');
    }
  });

  test('detects a mistyped key by its checksum, without a lookup in the store', async () => {
    const typo = gateway.key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    await post({ 'X-API-Key': gateway.key });
    const before = reads;
    assert.equal((await post({ 'X-API-Key': typo })).body.code, 'invalid_api_key');
    assert.equal(reads, before);
  });

  test('caches a key instead of reading the store for every request', async () => {
    await post({ 'X-API-Key': gateway.key });
    const before = reads;
    for (let count = 0; count < 20; count += 1) assert.equal((await post({ 'X-API-Key': gateway.key })).status, 200);
    assert.ok(reads - before <= 1, `${reads - before} reads`);
  });

  test('reports that authentication is unavailable while the store is down, and recovers by itself', async () => {
    const fresh = await keyWith({});
    isDown = true;
    const { status, headers, body } = await post({ 'X-API-Key': fresh });
    assert.equal(status, 401);
    assert.equal(body.error, 'Authentication service unavailable');
    assert.equal(body.code, 'authentication_unavailable');
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    isDown = false;
    assert.equal((await post({ 'X-API-Key': fresh })).status, 200);
  });

  test('uses a cached key for at most a second while the store is down', async () => {
    assert.equal((await post({ 'X-API-Key': gateway.key })).status, 200);
    isDown = true;
    await eventually(
      'the cached key is refused',
      1500,
      async () => (await post({ 'X-API-Key': gateway.key })).body.code,
      (code) => code === 'authentication_unavailable',
    ).finally(() => {
      isDown = false;
    });
  });

  test('applies the origin policy of the key', async () => {
    const keys = new Map<string, string>();
    for (const { allowedDomains, origin, referer, accepted } of origins.cases) {
      // Node's HTTP client cannot send characters beyond Latin-1; browsers send punycode there anyway.
      if (/[^\x20-\x7e]/.test(`${origin}${referer}`)) continue;
      const id = allowedDomains.join();
      if (!keys.has(id)) keys.set(id, await keyWith({ allowedDomains }));
      const headers = { ...(origin !== null && { Origin: origin }), ...(referer !== null && { Referer: referer }) };
      const { status, body } = await post({ 'X-API-Key': keys.get(id) as string, ...headers });
      assert.equal(status, accepted ? 200 : 401, JSON.stringify({ allowedDomains, ...headers }));
      if (!accepted) {
        assert.equal(body.error, 'Origin is not allowed for this API key');
        assert.equal(body.code, 'origin_not_allowed');
      }
    }
  });

  suite('with a signature', () => {
    const body = '{"title":"signed"}';
    const signed = (key: string, at: number, text = body): Record<string, string> => ({
      'X-API-Key': key,
      'X-Timestamp': String(at),
      'X-Signature': sign(key, String(at), text),
    });

    test('accepts the signed request of a site once, and refuses its replay', async () => {
      const headers = {
        ...signed(gateway.key, gateway.clock.now),
        Origin: 'https://shop.example.com',
        Referer: 'https://shop.example.com/',
      };
      assert.equal((await post(headers, body)).status, 200);
      const replay = await post(headers, body);
      assert.equal(replay.status, 401);
      assert.equal(replay.body.error, 'Invalid request signature');
      assert.equal(replay.body.code, 'invalid_signature');
    });

    test('accepts one of many replays that arrive at once', async () => {
      const headers = signed(gateway.key, gateway.clock.now + 1);
      const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await post(headers, body)).status));
      assert.equal(statuses.filter((status) => status === 200).length, 1);
    });

    test('accepts a timestamp within five minutes either way, and no other', async () => {
      const { now } = gateway.clock;
      for (const [offset, status] of [
        [300_000, 200],
        [-300_000, 200],
        [300_001, 401],
        [-300_001, 401],
      ] as const) {
        assert.equal((await post(signed(gateway.key, now + offset), body)).status, status, String(offset));
      }
    });

    test('requires both headers if one is present', async () => {
      const { 'X-Signature': signature, ...withoutSignature } = signed(gateway.key, gateway.clock.now + 2);
      assert.equal((await post(withoutSignature, body)).body.code, 'invalid_signature');
      const withoutTime = { 'X-API-Key': gateway.key, 'X-Signature': signature as string };
      assert.equal((await post(withoutTime, body)).body.code, 'invalid_signature');
    });

    test('refuses a changed body, a changed timestamp, another key, upper case and malformed signatures', async () => {
      const at = gateway.clock.now + 3;
      const good = signed(gateway.key, at);
      const other = await keyWith({});
      for (const headers of [
        { ...good, 'X-Timestamp': String(at + 1) },
        { ...good, 'X-API-Key': other },
        { ...good, 'X-Signature': good['X-Signature']?.toUpperCase() as string },
        { ...good, 'X-Signature': 'abc' },
        { ...good, 'X-Timestamp': `${at}0` },
        { ...good, 'X-Timestamp': 'now' },
      ]) {
        assert.equal((await post(headers, body)).body.code, 'invalid_signature', JSON.stringify(headers));
      }
      assert.equal((await post(good, `${body} `)).body.code, 'invalid_signature');
      assert.equal((await post(good, body)).status, 200);
    });

    test('is required for a key that demands it', async () => {
      const key = await keyWith({ requireSignature: true });
      assert.equal((await post({ 'X-API-Key': key }, body)).body.code, 'invalid_signature');
      assert.equal((await post(signed(key, gateway.clock.now), body)).status, 200);
    });

    test('is checked over the raw bytes, before the body is read', async () => {
      const key = await keyWith({ requireSignature: true });
      const broken = '{"title":';
      assert.equal((await post({ 'X-API-Key': key }, broken)).body.code, 'invalid_signature');
      assert.equal((await post(signed(key, gateway.clock.now, broken), broken)).body.code, 'invalid_body');
    });

    test('is refused while the store cannot report whether it was used before', async () => {
      await post({ 'X-API-Key': gateway.key });
      isDown = true;
      const { body: answer } = await post(signed(gateway.key, gateway.clock.now + 5), body);
      isDown = false;
      assert.equal(answer.code, 'authentication_unavailable');
    });
  });

  test('keeps imported keys working, also those whose checksum looks wrong', async () => {
    const odd = newKeyValue(systemEnvironment.randomIndex).replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    const short = 'svc_an-imported-key-of-old';
    for (const value of [odd, short]) {
      await keyWith({ value });
      // A failed attempt with another key must not change the result.
      await eventually(
        `${value} is accepted`,
        1000,
        async () => (await post({ 'X-API-Key': value })).status,
        (status) => status === 200,
      );
    }
  });

  test('does not give a key of one owner access to the devices of another', async () => {
    const other = await createOwner(gateway.store, systemEnvironment, {
      name: 'Other',
      email: null,
      emailAlerts: false,
    });
    const key = await keyWith({ ownerId: other.id });
    assert.equal((await post({ 'X-API-Key': key })).status, 200);
    assert.equal((await gateway.store.notifications.list(other.id, { limit: 10 })).notifications.length, 1);
  });
});
