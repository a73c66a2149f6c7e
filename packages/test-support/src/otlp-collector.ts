// A collector that accepts spans over OTLP/HTTP as JSON, and validates their format.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: number;
  start: bigint;
  end: bigint;
  attributes: Record<string, string | number>;
  hasFailed: boolean;
}

export class OtlpCollector {
  readonly spans: ReceivedSpan[] = [];
  readonly requests: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
  readonly services = new Set<string>();
  /** Requests with an invalid format. */
  readonly problems: unknown[] = [];
  status = 200;
  port = 0;
  #server: Server | undefined;

  static async start(): Promise<OtlpCollector> {
    const collector = new OtlpCollector();
    await collector.start();
    return collector;
  }

  /** After a stop it uses the same port again. */
  async start(): Promise<void> {
    const server = createServer(async (request, response) => {
      const body = await text(request);
      this.requests.push({ path: request.url ?? '', headers: request.headers, body });
      try {
        assert.equal(request.method, 'POST');
        assert.equal(request.headers['content-type'], 'application/json');
        const spans = this.#parse(JSON.parse(body));
        if (this.status === 200) this.spans.push(...spans);
      } catch (error) {
        this.problems.push(error);
      }
      response.writeHead(this.status, { 'Content-Type': 'application/json' }).end('{"partialSuccess":{}}');
    });
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    this.#server?.closeAllConnections();
    await closed;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  #parse(message: unknown): ReceivedSpan[] {
    const { resourceSpans } = exactly(message, ['resourceSpans']);
    return list(resourceSpans).flatMap((each) => {
      const { resource, scopeSpans } = exactly(each, ['resource', 'scopeSpans']);
      const service = parseAttributes(exactly(resource, ['attributes']).attributes)['service.name'];
      this.services.add(String(service));
      return list(scopeSpans).flatMap((scoped) => {
        const { scope, spans } = exactly(scoped, ['scope', 'spans']);
        const { name } = exactly(scope, ['name', 'version']);
        assert.equal(name, 'tocsin');
        return list(spans).map(parseSpan);
      });
    });
  }
}

function parseSpan(value: unknown): ReceivedSpan {
  const needed = ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano', 'attributes', 'status'];
  const span = exactly(value, needed, ['parentSpanId']);
  assert.match(span.traceId as string, /^(?!0+$)[\da-f]{32}$/);
  assert.match(span.spanId as string, /^(?!0+$)[\da-f]{16}$/);
  if (span.parentSpanId !== undefined) assert.match(span.parentSpanId as string, /^(?!0+$)[\da-f]{16}$/);
  assert.ok(typeof span.name === 'string' && span.name !== '');
  assert.ok([1, 2, 3].includes(span.kind as number), `kind ${span.kind}`);
  const [start, end] = [span.startTimeUnixNano, span.endTimeUnixNano].map((time) => {
    assert.equal(typeof time, 'string', 'times are strings: a double does not hold them');
    assert.match(time as string, /^\d{19}$/);
    return BigInt(time as string);
  }) as [bigint, bigint];
  assert.ok(end >= start, 'a span ends after it starts');
  assert.ok(Math.abs(Number(start / 1_000_000n) - Date.now()) < 600_000, 'the clock is right');
  const { code } = exactly(span.status, [], ['code']);
  assert.ok(code === undefined || code === 2);
  return {
    traceId: span.traceId as string,
    spanId: span.spanId as string,
    parentSpanId: span.parentSpanId as string | undefined,
    name: span.name,
    kind: span.kind as number,
    start,
    end,
    attributes: parseAttributes(span.attributes),
    hasFailed: code === 2,
  };
}

function parseAttributes(value: unknown): Record<string, string | number> {
  return Object.fromEntries(
    list(value).map((each) => {
      const { key, value: wrapped } = exactly(each, ['key', 'value']);
      const { stringValue, intValue } = exactly(wrapped, [], ['stringValue', 'intValue']);
      if (stringValue !== undefined) assert.equal(typeof stringValue, 'string');
      else assert.match(intValue as string, /^\d+$/, '64-bit numbers are strings in JSON');
      return [key as string, (stringValue as string | undefined) ?? Number(intValue)];
    }),
  );
}

function exactly(value: unknown, needed: string[], optional: string[] = []): Record<string, unknown> {
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value));
  const names = Object.keys(value);
  for (const name of needed) assert.ok(names.includes(name), `${name} is missing`);
  for (const name of names) assert.ok([...needed, ...optional].includes(name), `${name} does not belong there`);
  return value as Record<string, unknown>;
}

function list(value: unknown): unknown[] {
  assert.ok(Array.isArray(value) && value.length > 0);
  return value;
}
