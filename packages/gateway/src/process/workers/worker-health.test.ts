import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Heartbeat, RestartDelay } from './worker-health.ts';

const send = (heartbeat: Heartbeat, times: number): boolean[] => Array.from({ length: times }, () => heartbeat.sent());

test('A worker counts as hung after ten missed heartbeats in a row, and has more time to start', () => {
  const heartbeat = new Heartbeat();
  assert.deepEqual(new Set(send(heartbeat, 60)), new Set([false]), 'it is still starting');
  assert.equal(heartbeat.sent(), true);
  heartbeat.up();
  assert.deepEqual(new Set(send(heartbeat, 10)), new Set([false]));
  heartbeat.received();
  assert.deepEqual(new Set(send(heartbeat, 10)), new Set([false]), 'a received heartbeat resets the count');
  assert.equal(heartbeat.sent(), true);
});

test('Workers that crash soon after their start are replaced with backoff, and at once after a stable one', () => {
  const restart = new RestartDelay();
  const delays = Array.from({ length: 10 }, () => restart.afterMs(50));
  assert.deepEqual(delays, [0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  assert.equal(restart.afterMs(60_000), 0);
  assert.equal(restart.afterMs(50), 100);
});
