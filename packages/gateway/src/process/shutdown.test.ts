import assert from 'node:assert/strict';
import { test } from 'node:test';
import { primaryBudget, ShutdownStack, singleProcessBudget, workerBudget } from './shutdown.ts';

function noted(budget = singleProcessBudget) {
  const late: string[] = [];
  const failed: string[] = [];
  const stop = new ShutdownStack({ onLate: (part) => late.push(part), onFailed: (part) => failed.push(part) }, budget);
  return { stop, late, failed };
}

const never = (): Promise<void> => new Promise(() => undefined);

test('Parts close one after the other, in the reverse order of opening', async () => {
  const { stop, late } = noted();
  const order: string[] = [];
  stop.defer(() => void order.push('store'), 'store');
  stop.adopt('api', async (name) => {
    order.push(`${name} begins`);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(`${name} ends`);
  });
  await stop.disposeAsync();
  assert.deepEqual(order, ['api begins', 'api ends', 'store']);
  assert.deepEqual(late, []);
});

test('Parts that hang share one budget: their signal aborts in time to leave a share to the next part', async () => {
  const { stop, late } = noted({ totalMs: 600, firstMs: 400 });
  const left: number[] = [];
  const startedAt = performance.now();
  for (const part of ['store', 'broker', 'requests']) {
    stop.defer((signal) => {
      signal.addEventListener('abort', () => left.push(performance.now() - startedAt));
      return never();
    }, part);
  }
  await stop.disposeAsync();
  const ms = performance.now() - startedAt;
  assert.deepEqual(late, ['requests', 'broker', 'store']);
  assert.equal(left.length, 3);
  assert.ok((left[0] as number) < 500, `the first had ${left[0]} ms`);
  assert.ok(ms >= 570 && ms < 700, `${ms} ms`);
});

test('A part that fails is reported, and the other parts still close', async () => {
  const { stop, failed } = noted();
  let isClosed = false;
  stop.defer(() => {
    isClosed = true;
  });
  stop.defer(() => {
    throw new Error('no');
  }, 'broker');
  stop.defer(() => Promise.reject(new Error('no')), 'requests');
  await stop.disposeAsync();
  assert.deepEqual(failed, ['requests', 'broker']);
  assert.ok(isClosed);
});

test('Sends are aborted before the time of the first part ends, and not if it closes in time', async () => {
  const { stop } = noted({ totalMs: 2100, firstMs: 1400 });
  const heard = new Promise<number>((resolve) => {
    stop.abortSends.addEventListener('abort', () => resolve(performance.now()));
  });
  const startedAt = performance.now();
  stop.defer(async () => {
    await heard;
  });
  await stop.disposeAsync();
  const ms = (await heard) - startedAt;
  assert.ok(ms >= 390 && ms < 600, `${ms} ms`);
  const well = noted();
  await well.stop.disposeAsync();
  assert.equal(well.stop.abortSends.aborted, false);
});

test('A worker has the same time for requests, and the primary has time left after waiting for its workers', () => {
  const storeDeadlineMs = 5000;
  for (const { firstMs } of [singleProcessBudget, workerBudget]) assert.ok(firstMs > storeDeadlineMs, `${firstMs} ms`);
  assert.ok(primaryBudget.firstMs > workerBudget.totalMs);
  assert.ok(primaryBudget.totalMs - primaryBudget.firstMs >= 1000);
});
