import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from './bounded-map.ts';

test('A full map evicts its oldest entry for a new one', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('c', 3);
  assert.deepEqual(
    [...map],
    [
      ['b', 2],
      ['c', 3],
    ],
  );
});

test('Replacing a value evicts nothing and keeps the position of the entry', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3);
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['b', 2],
    ],
  );
});

test('Renewing an entry makes it the last to be evicted', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).renew('a', 3).set('c', 4);
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['c', 4],
    ],
  );
});
