import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogRepeats, type Suppressed } from './log-repeats.ts';

test('The first lines of a kind in a minute are written, the others are counted and reported once', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const reported: Suppressed[] = [];
  const repeats = new LogRepeats(3, (suppressed) => reported.push(suppressed));
  assert.deepEqual(
    Array.from({ length: 5 }, () => repeats.isDue('a')),
    [true, true, true, false, false],
  );
  assert.equal(repeats.isDue('b'), true);
  t.mock.timers.tick(60_000);
  assert.deepEqual(reported, [{ kind: 'a', count: 2 }]);
  assert.equal(repeats.isDue('a'), true);
  t.mock.timers.tick(60_000);
  assert.equal(reported.length, 1);
});

test('Counts are reported when the log ends', () => {
  const reported: Suppressed[] = [];
  const repeats = new LogRepeats(1, (suppressed) => reported.push(suppressed));
  for (let count = 0; count < 4; count += 1) repeats.isDue('a');
  repeats.flush();
  repeats.flush();
  assert.deepEqual(reported, [{ kind: 'a', count: 3 }]);
});
