// The spans that an OpenTelemetry collector receives.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { install, installWithSmtp, serveWithEmail } from '@tocsin/test-support/install.ts';
import { OtlpCollector, type ReceivedSpan } from '@tocsin/test-support/otlp-collector.ts';
import { serveExpectingFailure } from '@tocsin/test-support/refusal-to-start.ts';
import { notify, send } from '@tocsin/test-support/requests.ts';
import { scrape } from '@tocsin/test-support/scrape.ts';

const kinds = { internal: 1, server: 2, client: 3 };
const parentId = 'b7ad6b7169203331';
const newTraceId = (): string => crypto.randomUUID().replaceAll('-', '');
const traceparent = (traceId: string, flags: '00' | '01') => ({ traceparent: `00-${traceId}-${parentId}-${flags}` });

async function startCollector(t: TestContext): Promise<OtlpCollector> {
  const collector = await OtlpCollector.start();
  t.after(() => collector.stop());
  t.after(() => assert.deepEqual(collector.problems, []));
  return collector;
}

function spansOf({ spans }: OtlpCollector, traceId: string, count: number): Promise<ReceivedSpan[]> {
  return eventually(
    `${count} spans of ${traceId}`,
    10_000,
    () => spans.filter((span) => span.traceId === traceId),
    (found) => found.length >= count,
  ).catch(() => assert.fail(`the collector has ${JSON.stringify(spans.map(({ name }) => name))}`));
}

const byName = (spans: ReceivedSpan[], name: string): ReceivedSpan =>
  spans.find((span) => span.name === name) ?? assert.fail(`there is no span ${name}`);

/** Serves with a device and an email address for the first owner. */
async function serveWithKnownEmail(installation: Installation): Promise<GatewayProcess> {
  const gateway = await serveWithEmail(installation);
  const notifyCritical = () => notify(gateway, { title: 'x', severity: 'critical' }, traceparent(newTraceId(), '00'));
  await eventually('the new address is known', 5000, notifyCritical, ({ body }) => body.emailEnabled);
  return gateway;
}

suite('With a collector', () => {
  test('a request is a trace: itself, its save, and every channel', async (t) => {
    const collector = await startCollector(t);
    const { installation } = await installWithSmtp(t, {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/base/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20canary-token, x-tenant=acme',
    });
    const gateway = await serveWithKnownEmail(installation);
    const traceId = newTraceId();
    const canary = 'canary4711';
    const content = { title: canary, body: canary, source: canary, data: { canary }, severity: 'critical' };
    const { body } = await notify(gateway, content, { ...traceparent(traceId, '01'), 'User-Agent': canary });
    assert.equal(body.emailSent, true);
    const spans = await spansOf(collector, traceId, 4);
    assert.deepEqual(spans.map(({ name }) => name).sort(), ['POST /', 'email.send', 'mqtt.send', 'store.save']);

    const request = byName(spans, 'POST /');
    const { requestId } = body as unknown as { requestId: string };
    assert.equal(request.parentSpanId, parentId);
    assert.equal(request.kind, kinds.server);
    assert.deepEqual(request.attributes, {
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'tocsin.request_id': requestId,
      'tocsin.notification_id': body.id,
    });
    for (const [name, kind, attributes] of [
      ['store.save', kinds.internal, { 'tocsin.outcome': 'stored' }],
      ['mqtt.send', kinds.client, { 'tocsin.channel': 'mqtt', 'tocsin.outcome.sent': 1 }],
      ['email.send', kinds.client, { 'tocsin.channel': 'email', 'tocsin.outcome.sent': 1 }],
    ] as const) {
      const span = byName(spans, name);
      assert.equal(span.parentSpanId, request.spanId);
      assert.equal(span.kind, kind);
      assert.deepEqual(span.attributes, { ...attributes, 'tocsin.notification_id': body.id });
      assert.ok(span.start >= request.start && span.end <= request.end, `${name} lies within its request`);
    }
    assert.ok(byName(spans, 'store.save').end <= byName(spans, 'mqtt.send').start, 'stored before it is sent');
    assert.ok(spans.every(({ hasFailed }) => !hasFailed));

    assert.deepEqual([...collector.services], ['tocsin']);
    const owner = gateway.line.firstRun?.owner as string;
    for (const { path, headers, body: text } of collector.requests) {
      assert.equal(path, '/base/v1/traces');
      assert.equal(headers.authorization, 'Bearer canary-token');
      assert.equal(headers['x-tenant'], 'acme');
      for (const secret of [
        canary,
        gateway.key,
        owner,
        'ann@example.com',
        gateway.line.firstRun?.device.id as string,
      ]) {
        assert.ok(!text.includes(secret), `${secret} is in the spans`);
      }
    }
    assert.ok(!gateway.log.includes('canary'));
    const { length } = collector.spans;
    assert.equal((await scrape(gateway)).sum('tocsin_trace_spans_total', { result: 'exported' }), length);
  });

  test('callers decide about their traces, and the ratio about the others', async (t) => {
    const collector = await startCollector(t);
    const gateway = await (
      await install(t, {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/traces`,
        OTEL_SERVICE_NAME: 'bells',
        OTEL_TRACES_SAMPLER_ARG: '0',
      })
    ).serve();
    await notify(gateway, { title: 'no trace requested' });
    await notify(gateway, { title: 'not kept' }, traceparent(newTraceId(), '00'));
    await notify(gateway, { title: 'not a traceparent' }, { traceparent: `00-${newTraceId()}-01` });
    const traceId = newTraceId();
    await notify(gateway, { title: 'kept' }, traceparent(traceId, '01'));
    const spans = await spansOf(collector, traceId, 3);
    assert.equal(spans.length, 3);
    assert.equal(collector.spans.length, 3, 'spans are sent in order, so the others were never created');
    assert.deepEqual([...collector.services], ['bells']);
    assert.equal(collector.requests[0]?.path, '/traces');
  });

  test('refusals are recorded as such, and only internal errors are failures', async (t) => {
    const collector = await startCollector(t);
    const gateway = await (await install(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })).serve();
    const [unknown, elsewhere, strange] = [newTraceId(), newTraceId(), newTraceId()];
    const stranger = { api: gateway.api, key: 'svc_unknownUnknownUnknown' };
    assert.equal((await notify(stranger, { title: 'x' }, traceparent(unknown, '01'))).status, 401);
    await send(gateway.api, { path: '/canary', headers: traceparent(elsewhere, '01') });
    await send(gateway.api, { method: 'PROPFIND', headers: traceparent(strange, '01') });
    for (const [traceId, name, status] of [
      [unknown, 'POST /', 401],
      [elsewhere, 'GET /', 404],
      [strange, '_OTHER /', 405],
    ] as const) {
      const [span] = await spansOf(collector, traceId, 1);
      assert.equal(span?.name, name);
      assert.equal(span?.attributes['http.response.status_code'], status);
      assert.equal(span?.hasFailed, false);
    }
    // Without a traceparent the trace starts here.
    await notify(gateway, { title: 'x' });
    const roots = () => collector.spans.filter(({ parentSpanId }) => parentSpanId === undefined);
    const [root] = await eventually('a root', 10_000, roots, (found) => found.length > 0);
    assert.equal(root?.name, 'POST /');
  });

  test('a redelivery is a separate trace, with the id of its notification', async (t) => {
    const collector = await startCollector(t);
    const { installation, smtp } = await installWithSmtp(t, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    const gateway = await serveWithKnownEmail(installation);
    await smtp.kill();
    const traceId = newTraceId();
    const { body } = await notify(gateway, { title: 'x', severity: 'critical' }, traceparent(traceId, '01'));
    assert.equal(body.emailSent, false);
    const first = byName(await spansOf(collector, traceId, 4), 'email.send');
    assert.equal(first.attributes['tocsin.outcome.retry'], 1);
    assert.ok(first.hasFailed);
    await smtp.start();
    const again = await eventually(
      'the email was sent again',
      40_000,
      () =>
        collector.spans.find(
          ({ name, attributes }) => name === 'email.send' && attributes['tocsin.outcome.sent'] === 1,
        ),
      (span) => span !== undefined,
    );
    assert.notEqual(again?.traceId, traceId);
    assert.equal(again?.parentSpanId, undefined);
    assert.equal(again?.kind, kinds.client);
    assert.equal(again?.attributes['tocsin.notification_id'], body.id);
  });

  test('a collector that is down costs spans, which are counted, and no request', async (t) => {
    const collector = await startCollector(t);
    const gateway = await (await install(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })).serve();
    await collector.stop();
    const spans = 'tocsin_trace_spans_total';
    const dropped = async (): Promise<number> => (await scrape(gateway)).sum(spans, { result: 'dropped' }) ?? 0;
    for (let index = 0; index < 3; index += 1) assert.equal((await notify(gateway, { title: 'x' })).status, 200);
    await eventually('they are dropped', 10_000, dropped, (count) => count >= 9);
    collector.status = 503;
    await collector.start();
    const before = await dropped();
    await notify(gateway, { title: 'x' });
    await eventually('a refusal counts the same', 10_000, dropped, (count) => count >= before + 3);
    collector.status = 200;
    const traceId = newTraceId();
    await notify(gateway, { title: 'back' }, traceparent(traceId, '01'));
    await spansOf(collector, traceId, 3);
    assert.match(gateway.log, /"cause":"no connection \(ECONNREFUSED\)","msg":"traces cannot be exported/);
    assert.match(gateway.log, /"cause":"the collector responded with 503"/);
    await eventually(
      'and the log reports that it is over',
      5000,
      () => gateway.log,
      (log) => log.includes('traces are exported again'),
    );
  });

  test('the last spans are sent at shutdown', async (t) => {
    const collector = await startCollector(t);
    const gateway = await (await install(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })).serve();
    const traceId = newTraceId();
    await notify(gateway, { title: 'last' }, traceparent(traceId, '01'));
    assert.equal(await gateway.stop(), 0);
    assert.equal(collector.spans.filter((span) => span.traceId === traceId).length, 3);
  });
});

test('Invalid settings for traces are refused without repeating them', async (t) => {
  const installation = await install(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://canary:word@localhost:4318',
    OTEL_EXPORTER_OTLP_HEADERS: 'canary header',
    OTEL_TRACES_SAMPLER_ARG: '2',
  });
  const { exitCode, stderr } = await serveExpectingFailure(installation);
  assert.notEqual(exitCode, 0);
  for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_TRACES_SAMPLER_ARG']) {
    assert.match(stderr, new RegExp(`${name} must be`));
  }
  assert.ok(!stderr.includes('canary'));
});
