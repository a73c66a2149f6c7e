import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pulse, RestartDelay } from './worker-health.ts';

const ask = (pulse: Pulse, times: number): boolean[] => Array.from({ length: times }, () => pulse.ask());

test('A worker counts as hung after ten questions in a row without an answer, and has longer to start', () => {
  const pulse = new Pulse();
  assert.deepEqual(new Set(ask(pulse, 60)), new Set([false]), 'it is still starting');
  assert.equal(pulse.ask(), true);
  pulse.up();
  assert.deepEqual(new Set(ask(pulse, 10)), new Set([false]));
  pulse.answered();
  assert.deepEqual(new Set(ask(pulse, 10)), new Set([false]), 'an answer begins the count anew');
  assert.equal(pulse.ask(), true);
});

test('Workers that die young come back ever later, and at once again after one that lived', () => {
  const restart = new RestartDelay();
  const delays = Array.from({ length: 10 }, () => restart.afterMs(50));
  assert.deepEqual(delays, [0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  assert.equal(restart.afterMs(60_000), 0);
  assert.equal(restart.afterMs(50), 100);
});
