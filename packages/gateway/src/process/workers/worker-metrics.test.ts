import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { MetricsRequest } from './worker-metrics.ts';

test('One response settles all pending requests and clears their timers', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  let posted = 0;
  const request = new MetricsRequest(() => {
    posted += 1;
  });
  const responses = [request.send(), request.send()];
  assert.equal(timers(), before + 2);
  request.settle([]);
  assert.deepEqual(await Promise.all(responses), [[], []]);
  assert.equal(posted, 2);
  assert.equal(timers(), before);
});

test('A worker that does not respond within a second, or exits, is omitted', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const request = new MetricsRequest(() => undefined);
  const late = request.send();
  mock.timers.tick(1000);
  assert.equal(await late, null);
  const interrupted = request.send();
  request.settle(null);
  assert.equal(await interrupted, null);
});
