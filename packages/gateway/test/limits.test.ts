// Rate limits of keys and addresses.
import assert from 'node:assert/strict';
import { afterEach, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type LocalGateway, type LocalOptions, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import { type Caller, createCaller } from '@tocsin/test-support/requests.ts';
import { createKey as newKeyValue } from '../src/core/key-format.ts';
import { createKey, systemEnvironment } from '../src/usecases/registration.ts';

suite('Rate limits', () => {
  let gateway: LocalGateway;
  let caller: Caller;
  afterEach(() => gateway.stop());

  async function start(options: LocalOptions): Promise<void> {
    gateway = await startLocalGateway(options);
    caller = await createCaller(gateway.api, gateway.key);
  }

  test('there is none by default', async () => {
    await start({});
    const { status, headers } = await caller.notify({ title: 'x' });
    assert.equal(status, 200);
    assert.equal(headers.get('ratelimit'), null);
    assert.equal(headers.get('ratelimit-policy'), null);
  });

  test('the limit of the service counts per key, reports the remaining quota, and says when to retry', async () => {
    await start({ rateLimit: '3/m' });
    for (const left of [2, 1, 0]) {
      const { status, headers } = await caller.notify({ title: 'x' });
      assert.equal(status, 200);
      assert.equal(headers.get('ratelimit-policy'), '"key";q=3;w=60');
      assert.match(headers.get('ratelimit') ?? '', new RegExp(`^"key";r=${left};t=\\d+$`));
    }
    const { status, headers, body } = await caller.notify({ title: 'x' });
    assert.equal(status, 429);
    assert.equal(body.error, 'Too many requests');
    assert.equal(body.code, 'rate_limited');
    const wait = Number(headers.get('retry-after'));
    assert.ok(wait >= 1 && wait <= 60, `${wait}`);
    assert.match(headers.get('ratelimit') ?? '', /^"key";r=0;t=\d+$/);
    const other = await createKey(gateway.store, systemEnvironment, {
      ownerId: gateway.ownerId,
      type: 'public_client',
    });
    assert.equal((await caller.withKey(other.value).notify({ title: 'x' })).status, 200);
  });

  test('the limit of a key overrides the limit of the service, and is reported on refusals too', async () => {
    await start({ rateLimit: '1000/m' });
    const { value } = await createKey(gateway.store, systemEnvironment, {
      ownerId: gateway.ownerId,
      type: 'public_client',
      rateLimit: { requests: 1, seconds: 3600 },
    });
    const first = await caller.withKey(value).notify({ sendPush: true });
    assert.equal(first.status, 400);
    assert.equal(first.headers.get('ratelimit-policy'), '"key";q=1;w=3600');
    assert.equal((await caller.withKey(value).notify({ title: 'x' })).status, 429);
  });

  test('an address may fail a thousand times a minute, then it is refused without reading the store', async () => {
    let reads = 0;
    await start({
      wrapStore: (store) => ({
        ...store,
        keys: {
          ...store.keys,
          find: (digest) => {
            reads += 1;
            return store.keys.find(digest);
          },
        },
      }),
    });
    await caller.notify({ title: 'x' });
    const guess = (forwarded: number) =>
      caller
        .withKey(newKeyValue(systemEnvironment.randomIndex))
        .notify({ title: 'x' }, { 'X-Forwarded-For': `192.0.2.${forwarded}` });
    for (let batch = 0; batch < 40; batch += 1) {
      const statuses = await Promise.all(Array.from({ length: 25 }, async (_, index) => (await guess(index)).status));
      assert.deepEqual(new Set(statuses), new Set([401]), `batch ${batch}`);
    }
    const before = reads;
    // The first beyond the thousand is looked up and counted; after it nothing is looked up.
    const statuses = [];
    for (let index = 0; index < 5; index += 1) statuses.push(await guess(index));
    assert.ok(statuses.every(({ status, headers }) => status === 429 && Number(headers.get('retry-after')) > 0));
    assert.ok(reads - before <= 1, `${reads - before} reads`);
    // A recently accepted key still works: one broken client must not block others behind the same address.
    assert.equal((await caller.notify({ title: 'x' })).status, 200);
    assert.equal(statuses[0]?.headers.get('ratelimit-policy'), '"failures";q=1000;w=60');
    // Also after a pause in which the cached key has expired.
    await delay(900);
    assert.equal((await caller.notify({ title: 'x' })).status, 200);
  });

  test('behind a trusted proxy the client address is the last one that is not a proxy', async () => {
    await start({ trustedProxies: ['127.0.0.1/32', '10.0.0.0/8'] });
    const fail = (forwarded: string) =>
      caller.withKey('svc_wrong-wrong-wrong').notify({ title: 'x' }, { 'X-Forwarded-For': forwarded });
    for (let batch = 0; batch < 40; batch += 1) {
      await Promise.all(Array.from({ length: 25 }, (_, index) => fail(`198.51.100.${index}, 203.0.113.5, 10.1.2.3`)));
    }
    assert.equal((await fail('203.0.113.5')).status, 429);
    assert.equal((await fail('203.0.113.6')).status, 401);
    assert.equal((await fail('203.0.113.5, 203.0.113.6')).status, 401);
  });
});
