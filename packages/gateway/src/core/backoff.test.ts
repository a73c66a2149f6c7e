import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isTooOld, keepTryingMs, laterDelays, minAttempts, nextAttemptAt, spread } from './backoff.ts';

const middle = (): number => 0.5;
const expiresAt = keepTryingMs;

suite('The back-off', () => {
  test('waits 5 s, 30 s, 2 min, 10 min, 1 h, 3 h, 6 h, and 6 h from then on', () => {
    const delays = [0, 1, 2, 3, 4, 5, 6, 7, 20].map(
      (attempts) => nextAttemptAt({ attempts, expiresAt }, 0, middle) / 1000,
    );
    assert.deepEqual(delays, [5, 30, 120, 600, 3600, 10_800, 21_600, 21_600, 21_600]);
    assert.deepEqual(laterDelays(middle), [30_000, 120_000, 600_000, 3_600_000, 10_800_000, 21_600_000]);
  });

  test('spreads by a fifth to both sides', () => {
    assert.equal(
      spread(1000, () => 0),
      800,
    );
    assert.equal(
      spread(1000, () => 1),
      1200,
    );
  });

  test('waits as long as the provider wants, but not beyond the end', () => {
    assert.equal(nextAttemptAt({ attempts: 0, expiresAt }, 1000, middle, 60_000), 61_000);
    assert.equal(nextAttemptAt({ attempts: 0, expiresAt }, 1000, middle, 100), 6000);
    assert.equal(nextAttemptAt({ attempts: 6, expiresAt: 5000 }, 1000, middle), 5000);
    assert.equal(nextAttemptAt({ attempts: 0, expiresAt }, 0, middle, 2 * keepTryingMs), keepTryingMs);
  });

  test('makes a delivery dead by age only after the minimum number of attempts; before that the schedule goes on', () => {
    const old = { createdAt: 0, expiresAt };
    assert.equal(isTooOld({ ...old, attempts: minAttempts }, expiresAt), true);
    assert.equal(isTooOld({ ...old, attempts: minAttempts }, expiresAt - 1), false);
    assert.equal(isTooOld({ ...old, attempts: minAttempts - 1 }, 2 * expiresAt), false);
    assert.equal(isTooOld({ createdAt: 0, expiresAt: 0, attempts: 1 }, 0), true, 'one that has a single attempt');
    assert.equal(nextAttemptAt({ attempts: 1, expiresAt }, 2 * expiresAt, middle), 2 * expiresAt + 30_000);
  });
});
