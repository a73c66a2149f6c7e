// How fast is measured by `npm run bench:wordpress`; a timing does not decide whether tests pass.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canRun } from '@tocsin/test-support/requires.ts';
import { measurePageSpeed } from './support/page-speed.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';

test('no page waits for the gateway, and everything that pages set off arrives', async (t) => {
  if (!canRun(t, wordpressObstacle())) return;
  const { withTemplate, without, gatewayRequestsWithinPages, received } = await measurePageSpeed(4);
  assert.equal(gatewayRequestsWithinPages, 0);
  assert.equal(received, 4);
  assert.ok(withTemplate > 0 && without > 0);
});
