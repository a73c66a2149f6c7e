import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { SentKeys } from './sent-keys.ts';

const newKey = (version = 1) => ({ version, key: createSecretKey(randomBytes(32)) });

test('A key is sent to a thread once, and again to its replacement', () => {
  const keys = new SentKeys(() => 0);
  const wanted = new Map([['own_ann/1', newKey()]]);
  const names = (thread: number) => keys.toSend(thread, wanted).keys.map(({ name }) => name);
  assert.deepEqual(names(1), ['own_ann/1']);
  assert.deepEqual(names(1), []);
  assert.equal(keys.toSend(1, wanted).isNewKeySet, false);
  assert.deepEqual(keys.toSend(2, wanted), {
    keys: [{ name: 'own_ann/1', ...wanted.get('own_ann/1') }],
    isNewKeySet: true,
  });
});

test('Another key of the same name replaces the first one', () => {
  const keys = new SentKeys(() => 0);
  keys.toSend(1, new Map([['own_ann/1', newKey()]]));
  const recreated = newKey();
  const { keys: sent } = keys.toSend(1, new Map([['own_ann/1', recreated]]));
  assert.equal(sent[0]?.key, recreated.key);
});

test('The thread forgets its keys after a minute, and when they are too many', () => {
  let now = 0;
  const keys = new SentKeys(() => now);
  const wanted = new Map([['own_ann/1', newKey()]]);
  keys.toSend(1, wanted);
  now = 60_001;
  assert.deepEqual(
    [keys.toSend(1, wanted).isNewKeySet, keys.toSend(1, wanted).isNewKeySet],
    [true, false],
    'once a minute',
  );
  const many = new Map(Array.from({ length: 1000 }, (_, index) => [`own_${index}/1`, newKey()]));
  const { keys: sent, isNewKeySet } = keys.toSend(1, many);
  assert.deepEqual([sent.length, isNewKeySet], [1000, true]);
});
