import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemResolver } from './addresses.ts';

const address = [{ address: '192.0.2.1' }];

/** Lookups that end when the test says so. */
function heldLookups() {
  const asked: string[] = [];
  const ends: (() => void)[] = [];
  const resolve = createSystemResolver(async (name) => {
    asked.push(name);
    await new Promise<void>((end) => ends.push(end));
    return address;
  });
  return { asked, ends, resolve };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('The names of one owner, however many and however slow, hold up those of no other', async () => {
  const { asked, ends, resolve } = heldLookups();
  const slow = Array.from({ length: 50 }, (_, index) => resolve(`slow${index}.example`, 'greedy'));
  await turn();
  assert.deepEqual(asked, ['slow0.example']);
  const other = resolve('broker.example', 'other');
  await turn();
  assert.deepEqual(asked, ['slow0.example', 'broker.example']);
  const end = async (): Promise<void> => {
    ends.shift()?.();
    await turn();
  };
  const third = resolve('another.example', 'third');
  // greedy, which has waited longer, then the third owner, then greedy again.
  await end();
  assert.deepEqual(asked.slice(2), ['slow1.example']);
  await end();
  assert.deepEqual(asked.slice(2), ['slow1.example', 'another.example']);
  while (ends.length > 0) await end();
  assert.deepEqual(await Promise.all([...slow, other, third]), Array(52).fill(address));
  assert.equal(asked.length, 52);
});

test('Two lookups run at once where no owner chose the names, and a bounded number waits', async () => {
  const { asked, ends, resolve } = heldLookups();
  const lookups = Array.from({ length: 402 }, (_, index) => resolve(`${index}.example`));
  await assert.rejects(resolve('one-too-many.example'));
  assert.equal(asked.length, 2);
  for (let count = 0; count < 402; count += 1) {
    ends.shift()?.();
    await turn();
  }
  assert.equal((await Promise.all(lookups)).length, 402);
});

test('A lookup that fails gives its place to the next', async () => {
  const resolve = createSystemResolver(async () => {
    throw new Error('no such name');
  });
  const tries = Array.from({ length: 10 }, () => resolve('nowhere.example', 'one'));
  for (const { status } of await Promise.allSettled(tries)) assert.equal(status, 'rejected');
});
