import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { suite, test } from 'node:test';
import { createUuidV7Source, firstIdAt } from './uuid-v7.ts';

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

suite('Ids', () => {
  test('are UUIDs of version 7 that carry their time', () => {
    const id = createUuidV7Source(() => 0x0123456789ab, randomUUID)();
    assert.match(id, shape);
    assert.ok(id.startsWith('01234567-89ab-7'));
  });

  test('grow within a millisecond, over more of them than one can hold, and when the clock goes back', () => {
    let now = 1_800_000_000_000;
    const next = createUuidV7Source(() => now, randomUUID);
    let last = '';
    for (let count = 0; count < 20_000; count += 1) {
      if (count === 10_000) now -= 3_600_000;
      const id = next();
      assert.match(id, shape);
      assert.ok(id > last, `${id} after ${last}`);
      last = id;
    }
  });

  test('of a time lie above the first id of that time and below the first of the next', () => {
    const next = createUuidV7Source(() => 1000, randomUUID);
    for (let count = 0; count < 100; count += 1) {
      const id = next();
      assert.ok(firstIdAt(1000) <= id && id < firstIdAt(1001));
    }
  });

  test('go on after an id from before the start, unless its clock was a day or more ahead', () => {
    const before = createUuidV7Source(() => 1_800_000_000_000, randomUUID)();
    const next = createUuidV7Source(() => 1_800_000_000_000 - 3_600_000, randomUUID, before);
    const [first, second] = [next(), next()];
    assert.ok(before < first && first < second, `${before} ${first} ${second}`);
    const now = 1_800_000_000_000 - 90_000_000;
    const right = createUuidV7Source(() => now, randomUUID, before)();
    assert.equal(right.slice(0, 13), firstIdAt(now).slice(0, 13));
  });
});
