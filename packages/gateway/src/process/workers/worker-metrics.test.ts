import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { MetricsInquiry } from './worker-metrics.ts';

test('One answer serves all who wait for it and leaves no timer behind', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  let asked = 0;
  const inquiry = new MetricsInquiry(() => {
    asked += 1;
  });
  const answers = [inquiry.ask(), inquiry.ask()];
  assert.equal(timers(), before + 2);
  inquiry.answer([]);
  assert.deepEqual(await Promise.all(answers), [[], []]);
  assert.equal(asked, 2);
  assert.equal(timers(), before);
});

test('A worker that does not answer within a second, or ends meanwhile, is left out', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const inquiry = new MetricsInquiry(() => undefined);
  const unanswered = inquiry.ask();
  mock.timers.tick(1000);
  assert.equal(await unanswered, null);
  const ofOneThatEnds = inquiry.ask();
  inquiry.answer(null);
  assert.equal(await ofOneThatEnds, null);
});
