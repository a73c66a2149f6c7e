import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AggregatorRegistry, Histogram, Registry } from 'prom-client';
import { createHistograms } from './counters.ts';
import { createMetrics } from './metrics.ts';

test('Our histograms read as those of prom-client do', async () => {
  const values = [0, 0.5, 1, 1.5, 2, 7, 100];
  const shape = { name: 'seconds', help: 'Some seconds.', buckets: [1, 2, 5] };
  const ours = new Registry();
  const distribution = createHistograms(ours, shape)({ method: 'POST' });
  const theirs = new Registry();
  const histogram = new Histogram({ ...shape, labelNames: ['method'], registers: [theirs] });
  for (const value of values) {
    distribution.observe(value);
    histogram.observe({ method: 'POST' }, value);
  }
  // The order of labels within a line does not matter.
  const lines = (text: string): string[] => text.split('\n').map((line) => line.split(/[{},]/).sort().join());
  assert.deepEqual(lines(await ours.metrics()), lines(await theirs.metrics()));
});

test('Those of several processes add up, and what they all read from one store does not', async () => {
  const [first, second] = [createMetrics('1.0.0'), createMetrics('1.0.0')];
  for (const metrics of [first, second]) {
    metrics.watchDeliveries({ totals: async () => ({ waiting: 7, dead: 2, oldestWaitingAt: null }) });
    metrics.answered({ requestId: 'req_1', method: 'POST', status: 200, ms: 3 });
    metrics.onBatch(16, 2);
  }
  second.onBreakerState('email', 'open', '');
  const all = await Promise.all([first, second].map(({ registry }) => registry.getMetricsAsJSON()));
  const text = await AggregatorRegistry.aggregate(all).metrics();
  assert.match(text, /^tocsin_http_requests_total\{status="200",code="none"\} 2$/m);
  assert.match(text, /^tocsin_http_request_duration_seconds_count\{method="POST",status="200"\} 2$/m);
  assert.match(text, /^tocsin_store_batch_size_bucket\{le="16"\} 2$/m);
  assert.match(text, /^tocsin_redeliveries\{state="waiting"\} 7$/m);
  assert.match(text, /^tocsin_breaker_state\{guard="email"\} 2$/m);
  assert.match(text, /^tocsin_breaker_state\{guard="mqtt"\} 0$/m);
});

test('A store that hangs is asked once, and its numbers are left out of the scrape', async () => {
  const { registry, watchDeliveries } = createMetrics('1.0.0');
  const answer = Promise.withResolvers<{ waiting: number; dead: number; oldestWaitingAt: number }>();
  let asked = 0;
  watchDeliveries({
    totals: () => {
      asked += 1;
      return answer.promise;
    },
  });
  const since = performance.now();
  const texts = await Promise.all([registry.metrics(), registry.metrics()]);
  assert.ok(performance.now() - since < 1900, 'the scrape did not wait for the store');
  assert.equal(asked, 1);
  for (const text of texts) {
    assert.match(text, /^tocsin_http_requests_total|^# TYPE tocsin_http_requests_total/m);
    assert.doesNotMatch(text, /^tocsin_redeliver/m);
  }
  answer.resolve({ waiting: 3, dead: 0, oldestWaitingAt: Date.now() - 60_000 });
  await answer.promise;
  const later = await registry.metrics();
  assert.match(later, /^tocsin_redeliveries\{state="waiting"\} 3$/m);
  assert.match(later, /^tocsin_redelivery_oldest_age_seconds 60(\.\d+)?$/m);
});

test('A store that fails is left out too', async () => {
  const { registry, watchDeliveries } = createMetrics('1.0.0');
  watchDeliveries({ totals: async () => Promise.reject(new Error('gone')) });
  assert.doesNotMatch(await registry.metrics(), /^tocsin_redeliver/m);
});
