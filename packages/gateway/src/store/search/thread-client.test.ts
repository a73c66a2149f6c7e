import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { encrypt } from '../vault/cipher.ts';
import { SearchThread, type SearchThreadOptions } from './thread-client.ts';

const never = new AbortController().signal;
const ownerId = 'own_ann';
const terms = { query: 'found', severities: null, categories: null };

function start(t: TestContext, options: SearchThreadOptions = {}): SearchThread {
  const thread = new SearchThread(options);
  t.after(() => thread.close());
  return thread;
}

/** A thread whose behavior for a row is determined by the id of the row. */
const scripted = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    const sleep = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    parentPort.on('message', ({ id, rows }) => {
      parentPort.postMessage({ id, kind: 'begun' });
      for (const row of rows) {
        if (row.id === 'hang') sleep();
        if (row.id === 'throw') throw new Error('of the thread');
        if (row.id === 'exit') process.exit(1);
        parentPort.postMessage({ id, kind: 'row', result: { kind: 'no-match' } });
      }
      parentPort.postMessage({ id, kind: 'end' });
    });
  `)}`,
);
const rowsNamed = (...ids: string[]) => ids.map((id) => ({ id, sealed: new Uint8Array() }));
const job = (...ids: string[]) => ({ ownerId, terms, keys: [], rows: rowsNamed(...ids), mostMatches: 10 });

suite('The search thread', () => {
  for (const fate of ['hang', 'throw', 'exit']) {
    test(`skips a row that makes it ${fate}, and searches the others`, async (t) => {
      const thread = start(t, { script: scripted, rowDeadlineMs: 500 });
      const outcomes = await thread.search(job('a', fate, 'b', fate, 'c'), never);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ['no-match', 'skipped', 'no-match', 'skipped', 'no-match'],
      );
      assert.equal((await thread.search(job('d'), never)).length, 1, 'the next search works');
    });
  }

  test('decrypts and matches rows, ends after the requested matches, and reports damaged rows', async (t) => {
    const thread = start(t);
    const keys = [2, 1].map((version) => ({ version, key: createSecretKey(randomBytes(32)) }));
    const content = (title: string) => ({ title, body: '', source: '', category: 'info', severity: null, data: {} });
    const rows = ['found', 'other', 'damaged', 'found too', 'found last'].map((title, index) => {
      const context = { table: 'notifications', ownerId, rowId: String(index), column: 'sealed' };
      const key = keys[index % 2] as (typeof keys)[number];
      const sealed = encrypt(key, context, JSON.stringify(content(title)));
      if (title === 'damaged') sealed[20] = (sealed[20] as number) ^ 1;
      return { id: String(index), sealed };
    });
    const outcomes = await thread.search({ ownerId, terms, keys, rows, mostMatches: 2 }, never);
    assert.deepEqual(outcomes, [
      { kind: 'match', content: JSON.stringify(content('found')) },
      { kind: 'no-match' },
      { kind: 'damaged' },
      { kind: 'match', content: JSON.stringify(content('found too')) },
    ]);
  });

  test('ends when it is idle, and starts again', async (t) => {
    const thread = start(t, { script: scripted, idleMs: 0 });
    for (const id of ['a', 'b']) {
      assert.equal((await thread.search(job(id), never)).length, 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
});
