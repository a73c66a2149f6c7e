import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTraceParent } from './traceparent.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

test('A traceparent contains trace id, span id and the sampled flag', () => {
  assert.deepEqual(parseTraceParent(`00-${traceId}-${spanId}-01`), { traceId, spanId, isSampled: true });
  assert.deepEqual(parseTraceParent(`00-${traceId}-${spanId}-00`), { traceId, spanId, isSampled: false });
  assert.equal(parseTraceParent(`00-${traceId}-${spanId}-02`)?.isSampled, false);
  assert.equal(parseTraceParent(`00-${traceId}-${spanId}-ff`)?.isSampled, true);
});

test('Only a later version may have additional fields', () => {
  assert.equal(parseTraceParent(`cc-${traceId}-${spanId}-01-what-the-future-brings`)?.traceId, traceId);
  assert.equal(parseTraceParent(`00-${traceId}-${spanId}-01-more`), null);
});

for (const header of [
  undefined,
  '',
  'nonsense',
  `ff-${traceId}-${spanId}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01\n`.repeat(2),
]) {
  test(`${JSON.stringify(header)} is no traceparent`, () => assert.equal(parseTraceParent(header), null));
}
