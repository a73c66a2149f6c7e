import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Refusal } from '../core/refusal.ts';
import { createDirectory } from './directory.ts';
import { type ApiKey, type DirectorySource, StoreUnavailable } from './ports/index.ts';

/** A store whose answers, and the moment they come, the test decides. */
class FakeStore implements DirectorySource {
  generation = 1;
  known = new Map<string, ApiKey>();
  reads = 0;
  isDown = false;
  beforeAnswer: () => void = () => undefined;
  changesAnswer = Promise.resolve();

  keys = {
    find: async (digest: string) => {
      this.#ask();
      const key = this.known.get(digest) ?? null;
      // What was read is on its way while something else happens.
      this.beforeAnswer();
      await settled();
      return key;
    },
  };
  hooks = { find: async () => null };
  owners = {
    recipientsOf: async () => {
      this.#ask();
      return { email: null, emailAlerts: false, quietHours: null, devices: [], pushTargets: [] };
    },
  };
  changes = {
    read: async () => {
      await this.changesAnswer;
      if (this.isDown) throw new StoreUnavailable('down');
      return { generation: this.generation, hasIrregularKeys: false };
    },
  };
  #ask(): void {
    if (this.isDown) throw new StoreUnavailable('down');
    this.reads += 1;
  }
}

const key = (id: string, revokedAt: number | null = null): ApiKey => ({ id, revokedAt }) as ApiKey;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

suite('The directory', () => {
  function create() {
    const store = new FakeStore();
    const clock = { now: 0 };
    return { store, clock, directory: createDirectory(store, () => clock.now) };
  }

  test('asks once and remembers', async () => {
    const { store, directory } = create();
    store.known.set('d', key('k'));
    for (let count = 0; count < 5; count += 1) assert.equal((await directory.findKey('d'))?.id, 'k');
    for (let count = 0; count < 5; count += 1) await directory.recipientsOf('own');
    assert.equal(store.reads, 2);
  });

  test('notices a change by any process within a second', async () => {
    const { store, clock, directory } = create();
    store.known.set('d', key('k'));
    await directory.findKey('d');
    store.known.set('d', key('k', 1));
    store.generation += 1;
    clock.now += 300;
    await directory.findKey('d');
    await settled();
    clock.now += 100;
    assert.equal((await directory.findKey('d'))?.revokedAt, 1);
  });

  test('trusts nothing that was confirmed a second ago', async () => {
    const { store, clock, directory } = create();
    store.known.set('d', key('k'));
    await directory.findKey('d');
    store.known.set('d', key('k', 1));
    store.generation += 1;
    clock.now += 1000;
    assert.equal(directory.recallKey('d'), undefined);
    assert.equal((await directory.findKey('d'))?.revokedAt, 1);
  });

  test('does not remember what was read before a change that it noticed meanwhile', async () => {
    const { store, clock, directory } = create();
    store.known.set('d', key('k'));
    await directory.hasIrregularKeys();
    clock.now += 300;
    // The question whether anything changed is under way while the key is read, and is answered before the key is.
    const { promise, resolve } = Promise.withResolvers<void>();
    store.changesAnswer = promise;
    store.beforeAnswer = () => {
      store.beforeAnswer = () => undefined;
      store.known.set('d', key('k', 1));
      store.generation += 1;
      resolve();
    };
    assert.equal((await directory.findKey('d'))?.revokedAt, null);
    assert.equal((await directory.findKey('d'))?.revokedAt, 1);
  });

  test('does not remember that a key is unknown: it may be created the next moment', async () => {
    const { store, directory } = create();
    assert.equal(await directory.findKey('d'), null);
    store.known.set('d', key('k'));
    assert.equal((await directory.findKey('d'))?.id, 'k');
  });

  test('refuses as unavailable once the store has been away for a second, and recovers', async () => {
    const { store, clock, directory } = create();
    store.known.set('d', key('k'));
    await directory.findKey('d');
    store.isDown = true;
    clock.now += 500;
    assert.equal((await directory.findKey('d'))?.id, 'k');
    await settled();
    clock.now += 500;
    await assert.rejects(
      async () => directory.findKey('d'),
      (error) => error instanceof Refusal && error.code === 'authentication_unavailable',
    );
    store.isDown = false;
    assert.equal((await directory.findKey('d'))?.id, 'k');
  });

  test('reads again at once after an invalidation, and ignores a read that started before it', async () => {
    const { store, clock, directory } = create();
    store.known.set('d', key('k'));
    await directory.findKey('d');
    const ask = store.changes.read.bind(store);
    const { promise, resolve } = Promise.withResolvers<void>();
    store.changes.read = async () => {
      const answer = await ask();
      await promise;
      return answer;
    };
    clock.now += 300;
    await directory.findKey('d');
    await settled();
    store.changes.read = ask;
    store.known.set('d', key('k', 1));
    store.generation += 1;
    directory.changed();
    resolve();
    await settled();
    assert.equal(directory.recallKey('d'), undefined);
    assert.equal((await directory.findKey('d'))?.revokedAt, 1);
  });

  test('holds a bounded number of entries', async () => {
    const { store, directory } = create();
    for (let index = 0; index < 10_050; index += 1) {
      store.known.set(`d${index}`, key(`k${index}`));
      await directory.findKey(`d${index}`);
    }
    assert.equal(directory.recallKey('d0'), undefined);
    assert.equal(directory.recallKey('d10049')?.id, 'k10049');
  });
});
