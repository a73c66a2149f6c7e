import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { RepeatedLines } from './repeated-lines.ts';

interface Reported {
  kind: string;
  address: string;
  count: number;
}

function limitLines(t: TestContext, lines: number, isPerMinute: boolean) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const repeated = new RepeatedLines({ lines, isPerMinute });
  const reported: Reported[] = [];
  const isDue = (kind: string, address = ''): boolean =>
    repeated.isDue(kind, address, (count, address) => reported.push({ kind, address, count }));
  const areDue = (times: number, kind: string): boolean[] => Array.from({ length: times }, () => isDue(kind));
  return { repeated, reported, isDue, areDue };
}

suite('A limit per minute', () => {
  test('writes the first lines of a kind in a minute, and reports the count of the others once', (t) => {
    const { reported, areDue } = limitLines(t, 3, true);
    assert.deepEqual(areDue(5, 'a'), [true, true, true, false, false]);
    assert.deepEqual(areDue(1, 'b'), [true]);
    t.mock.timers.tick(60_000);
    assert.deepEqual(reported, [{ kind: 'a', address: '', count: 2 }]);
    assert.deepEqual(areDue(4, 'a'), [true, true, true, false]);
    t.mock.timers.tick(60_000);
    assert.deepEqual(reported.slice(1), [{ kind: 'a', address: '', count: 1 }]);
    t.mock.timers.tick(60_000);
    assert.equal(reported.length, 2);
  });

  test('reports counts when the log ends', (t) => {
    const { repeated, reported, areDue } = limitLines(t, 1, true);
    areDue(4, 'a');
    repeated.flush();
    repeated.flush();
    assert.deepEqual(reported, [{ kind: 'a', address: '', count: 3 }]);
  });
});

suite('A limit until a minute without the line', () => {
  test('writes a line once, and counts it each minute while it is repeated', (t) => {
    const { reported, areDue } = limitLines(t, 1, false);
    assert.deepEqual(areDue(3, 'a'), [true, false, false]);
    t.mock.timers.tick(60_000);
    assert.deepEqual(areDue(2, 'a'), [false, false]);
    t.mock.timers.tick(60_000);
    assert.deepEqual(
      reported.map(({ count }) => count),
      [2, 2],
    );
    t.mock.timers.tick(60_000);
    assert.deepEqual(areDue(2, 'a'), [true, false]);
    assert.equal(reported.length, 2);
  });

  test('counts each address for itself, and those beyond the maximum together', (t) => {
    const { repeated, reported, isDue } = limitLines(t, 1, false);
    const addresses = Array.from({ length: 300 }, (_, index) => `address ${index}`);
    assert.equal(addresses.filter((address) => isDue('a', address)).length, 200);
    assert.equal(isDue('a', 'address 7'), false);
    repeated.flush();
    assert.deepEqual(reported, [
      { kind: 'a', address: 'address 7', count: 1 },
      { kind: 'a', address: 'other addresses', count: 100 },
    ]);
  });
});
