import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { Exporter, type ExporterOptions } from './exporter.ts';
import { newSpanClock, newTraceId, type OtlpSpan, Span } from './span.ts';

const clock = newSpanClock();
const newSpan = (): OtlpSpan =>
  new Span({ traceId: newTraceId(), parentId: null, name: 'x', kind: 'server', clock }).end();

async function collect(t: TestContext, listener: RequestListener): Promise<URL> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`);
}

function exporterTo(url: URL, options: Partial<ExporterOptions> = {}) {
  const counts = { exported: 0, dropped: 0 };
  const exporter = new Exporter({
    url,
    headers: {},
    serviceName: 'tocsin',
    version: '1.0.0',
    onBatch: (result, count) => {
      counts[result] += count;
    },
    ...options,
  });
  return { exporter, counts };
}

test('Spans are exported in batches, each span once', async (t) => {
  const sizes: number[] = [];
  const ids = new Set<string>();
  const url = await collect(t, async (request, response) => {
    const { resourceSpans } = JSON.parse(await text(request)) as {
      resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[];
    };
    const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
    sizes.push(spans.length);
    for (const { spanId } of spans) ids.add(spanId);
    response.end('{}');
  });
  const { exporter, counts } = exporterTo(url);
  for (let index = 0; index < 1500; index += 1) exporter.add(newSpan());
  await exporter.close();
  assert.deepEqual(sizes, [512, 512, 476]);
  assert.equal(ids.size, 1500);
  assert.deepEqual(counts, { exported: 1500, dropped: 0 });
});

test('With a collector that never responds, a bounded number of spans is pending, and close does not wait', async (t) => {
  let requests = 0;
  const url = await collect(t, () => {
    requests += 1;
  });
  const { exporter, counts } = exporterTo(url);
  for (let index = 0; index < 10_000; index += 1) exporter.add(newSpan());
  assert.equal(counts.dropped, 10_000 - 512 - 4096, 'one batch is in flight, and 4096 spans are pending');
  const since = performance.now();
  await exporter.close();
  assert.ok(performance.now() - since < 2000, 'the stop went on');
  assert.equal(requests, 1, 'a slow collector gets no second batch');
});

test('A redirect of the collector is not followed, because the headers are for the collector only', async (t) => {
  let strangers = 0;
  const elsewhere = await collect(t, (_request, response) => {
    strangers += 1;
    response.end('{}');
  });
  const url = await collect(t, (_request, response) => response.writeHead(307, { Location: elsewhere.href }).end());
  const reasons: (string | null)[] = [];
  const { exporter, counts } = exporterTo(url, {
    headers: { authorization: 'canary' },
    onStateChange: (reason) => reasons.push(reason),
  });
  exporter.add(newSpan());
  await exporter.close();
  assert.equal(strangers, 0);
  assert.deepEqual(counts, { exported: 0, dropped: 1 });
  assert.equal(reasons.length, 1);
  assert.ok(!reasons[0]?.includes('canary'));
});
