import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Rate } from '@tocsin/contract';
import {
  type ApiKey,
  type LimitRepository,
  type RateLimitState,
  type RequestCount,
  StoreUnavailable,
} from '../usecases/ports/index.ts';
import { SharedCounts } from './shared-counts.ts';

const rate: Rate = { requests: 3, seconds: 60 };
const keyNamed = (id: string): ApiKey => ({ id, ownerId: 'own_1' }) as ApiKey;
const key = keyNamed('key_1');
const local: RateLimitState = { used: 1, msLeft: 1 };

/** A store whose results the test controls, one query after the other. */
class ScriptedStore implements Pick<LimitRepository, 'count'> {
  readonly questions: { requests: readonly RequestCount[]; answer: PromiseWithResolvers<RateLimitState[]> }[] = [];
  #asked = Promise.withResolvers<void>();

  count(requests: readonly RequestCount[]): Promise<RateLimitState[]> {
    const answer = Promise.withResolvers<RateLimitState[]>();
    this.questions.push({ requests, answer });
    this.#asked.resolve();
    this.#asked = Promise.withResolvers();
    return answer.promise;
  }

  async question(index: number) {
    while (this.questions.length <= index) await this.#asked.promise;
    return this.questions[index] as (typeof this.questions)[number];
  }
}

function countsOn(store: Pick<LimitRepository, 'count'>) {
  const changes: [boolean, string | undefined][] = [];
  const counts = new SharedCounts({
    counts: store,
    fallback: async () => local,
    onChange: (isShared, cause) => changes.push([isShared, cause]),
  });
  return { counts, changes };
}

suite('Shared counts', () => {
  test('requests that arrive during a query are counted in one query, and each gets its own position', async () => {
    const store = new ScriptedStore();
    const { counts } = countsOn(store);
    const early = counts.count(key, rate);
    const first = await store.question(0);
    assert.deepEqual(first.requests, [{ ownerId: 'own_1', keyId: 'key_1', windowMs: 60_000, count: 1 }]);
    const late = [counts.count(key, rate), counts.count(keyNamed('key_2'), rate), counts.count(key, rate)];
    first.answer.resolve([{ used: 10, msLeft: 500 }]);
    assert.deepEqual(await early, { used: 10, msLeft: 500 });
    const second = await store.question(1);
    assert.deepEqual(
      second.requests.map(({ keyId, count }) => [keyId, count]),
      [
        ['key_1', 2],
        ['key_2', 1],
      ],
    );
    second.answer.resolve([
      { used: 2, msLeft: 500 },
      { used: 1, msLeft: 60_000 },
    ]);
    assert.deepEqual(
      (await Promise.all(late)).map(({ used }) => used),
      [1, 1, 2],
    );
  });

  test('a limit that is reached is cached, so that refusals need no query; a raised limit takes effect at once', async () => {
    const store = new ScriptedStore();
    const { counts } = countsOn(store);
    const third = counts.count(key, rate);
    (await store.question(0)).answer.resolve([{ used: 3, msLeft: 60_000 }]);
    assert.equal((await third).used, 3);
    const refused = await counts.count(key, rate);
    assert.ok(refused.used > rate.requests && refused.msLeft > 59_000 && refused.msLeft <= 60_000);
    assert.equal(store.questions.length, 1);
    const raised = counts.count(key, { requests: 100, seconds: 60 });
    (await store.question(1)).answer.resolve([{ used: 4, msLeft: 60_000 }]);
    assert.equal((await raised).used, 4);
  });

  test('while the store fails, or does not respond within half a second, counts fall back to this process', async () => {
    const store = new ScriptedStore();
    const { counts, changes } = countsOn(store);
    const failing = counts.count(key, rate);
    (await store.question(0)).answer.reject(new StoreUnavailable('the disk is full'));
    assert.deepEqual(await failing, local);

    const since = performance.now();
    const waiting = counts.count(key, rate);
    const hanging = await store.question(1);
    assert.deepEqual(await Promise.all([waiting, counts.count(key, rate)]), [local, local]);
    const waited = performance.now() - since;
    assert.ok(waited > 400 && waited < 2000, `${waited} ms`);
    const immediately = performance.now();
    assert.deepEqual(await counts.count(key, rate), local);
    assert.ok(performance.now() - immediately < 200, 'no other request waits for a store that hangs');
    assert.equal(store.questions.length, 2);

    hanging.answer.resolve([{ used: 1, msLeft: 60_000 }]);
    await hanging.answer.promise;
    await new Promise((resolve) => setImmediate(resolve));
    const healed = counts.count(key, rate);
    (await store.question(2)).answer.resolve([{ used: 2, msLeft: 60_000 }]);
    assert.equal((await healed).used, 2);
    assert.deepEqual(changes, [
      [false, 'the disk is full'],
      [true, undefined],
    ]);
  });
});
