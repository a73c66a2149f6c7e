import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type ClockRecord, holdMs, isClockTrusted, observeClock } from './clock-record.ts';

const hour = 3_600_000;
const day = 24 * hour;
const start = 1_800_000_000_000;
const tickMs = hour / 6;

/** Observes a clock that starts at `from` and runs evenly; the first observation is that of a new process. */
function run(record: ClockRecord | null, from: number, ms: number): ClockRecord {
  let next = observeClock(record, from, 0);
  for (let passed = tickMs; passed <= ms; passed += tickMs) next = observeClock(next, from + passed, tickMs);
  return next;
}

const trusted: ClockRecord = { seenAt: start, heldMs: holdMs, jumped: null };

suite('A clock that decides what is deleted', () => {
  test('is trusted once it has run for six hours', () => {
    assert.equal(isClockTrusted(run(null, start, holdMs - tickMs)), false);
    assert.equal(isClockTrusted(run(null, start, holdMs)), true);
  });

  test('stays trusted over a restart, an hour or a day forward or back', () => {
    for (const offset of [0, hour, -hour, day, -day]) {
      assert.equal(isClockTrusted(observeClock(trusted, start + offset, 0)), true, `${offset / hour} h`);
    }
  });

  test('adds up over restarts', () => {
    let record = run(null, start, holdMs / 2);
    record = run(record, start + holdMs / 2 + hour, holdMs / 2);
    assert.equal(isClockTrusted(record), true);
  });

  test('is not trusted after a jump, until it has held for six hours', () => {
    for (const offset of [100 * day, 2 * day, -2 * day, -100 * day]) {
      assert.equal(isClockTrusted(run(trusted, start + offset, holdMs - tickMs)), false, `${offset / day} days`);
      assert.equal(isClockTrusted(run(trusted, start + offset, holdMs)), true, `${offset / day} days`);
    }
  });

  test('is trusted at once when it comes back', () => {
    const ahead = run(trusted, start + 100 * day, holdMs / 2);
    assert.equal(isClockTrusted(ahead), false);
    assert.equal(isClockTrusted(observeClock(ahead, start + holdMs / 2, 0)), true);
  });

  test('that jumps a second time begins to hold again', () => {
    const ahead = run(trusted, start + 100 * day, holdMs - tickMs);
    assert.equal(isClockTrusted(run(ahead, start + 200 * day, tickMs)), false);
  });

  test('gains no time by restarts alone, nor by the wall clock alone', () => {
    let record = observeClock(trusted, start + 100 * day, 0);
    for (let count = 1; count <= 48; count += 1) record = observeClock(record, start + 100 * day + count * tickMs, 0);
    assert.equal(isClockTrusted(record), false);
  });

  test('counts a span once, however many nodes observe it', () => {
    let record: ClockRecord = observeClock(trusted, start + 100 * day, 0);
    for (let passed = tickMs; passed <= holdMs / 2; passed += tickMs) {
      for (let node = 0; node < 4; node += 1) record = observeClock(record, start + 100 * day + passed, tickMs);
    }
    assert.equal(isClockTrusted(record), false);
  });
});
