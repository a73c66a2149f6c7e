import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSampler } from './sampler.ts';
import { newTraceId } from './span.ts';

const traceIds = Array.from({ length: 4000 }, newTraceId);
const keptOf = (ratio: number): string[] => traceIds.filter(createSampler(ratio));

test('All, none, or the given ratio of the traces is sampled', () => {
  assert.equal(keptOf(1).length, 4000);
  assert.equal(keptOf(0).length, 0);
  // Ten standard deviations to either side.
  assert.ok(Math.abs(keptOf(0.25).length - 1000) < 274, `${keptOf(0.25).length} of 4000`);
});

test('A higher ratio samples all traces that a lower one samples', () => {
  const more = new Set(keptOf(0.5));
  assert.ok(keptOf(0.1).every((traceId) => more.has(traceId)));
});
