import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs, hourMs, minuteMs, parseDuration, secondMs } from './duration.ts';

test('A duration is a number with a unit: s, m, h or d', () => {
  assert.equal(parseDuration('45s'), 45 * secondMs);
  assert.equal(parseDuration('15m'), 15 * minuteMs);
  assert.equal(parseDuration(' 12h '), 12 * hourMs);
  assert.equal(parseDuration('30d'), 30 * dayMs);
});

for (const text of ['', '12', 'h', '-1h', '1.5h', '1h30m', '1w', '1234567d', '2027-01-31']) {
  test(`"${text}" is not a duration`, () => {
    assert.equal(parseDuration(text), undefined);
  });
}
