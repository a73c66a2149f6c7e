// Checks counts only; `npm run bench:wordpress` measures the times.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canRun } from '@tocsin/test-support/requires.ts';
import { measurePageSpeed } from './support/page-speed.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';

test('no page waits for the gateway, and all events of pages are delivered', async (t) => {
  if (!canRun(t, wordpressObstacle())) return;
  const { withTemplate, without, gatewayRequestsWithinPages, received } = await measurePageSpeed(4);
  assert.equal(gatewayRequestsWithinPages, 0);
  assert.equal(received, 4);
  assert.ok(withTemplate > 0 && without > 0);
});
