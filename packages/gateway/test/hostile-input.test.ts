// Every input gets a success or a refusal from the table, never an internal error. Requests go through the whole public
// API on a real store, without sockets, so that very many fit into a test run.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { contentTypes, controlFields, errors } from '@tocsin/contract';
import { type LocalGateway, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import fc from 'fast-check';
import inject from 'light-my-request';

/** Default; TOCSIN_TEST_HOSTILE=5000000 runs more. */
const cases = Number(process.env.TOCSIN_TEST_HOSTILE ?? 60_000);
const perRun = 50;

const listedErrors = new Map(Object.entries(errors).map(([code, { status }]) => [code, status]));
const names = [
  ...controlFields,
  'message',
  'text',
  'subject',
  'description',
  'service',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '',
];
const words = [
  'true',
  'off',
  '1',
  'critical',
  'task',
  '{"a":1}',
  '{"__proto__":{"polluted":1}}',
  '{',
  '[',
  'custom',
  ' ',
  '\u0000',
  '\ud800',
  '2',
];
const nasty = [
  '{"a":'.repeat(200),
  '['.repeat(5000),
  `{"__proto__":{"polluted":1},"title":"x"}`,
  '{"title":1e999}',
  '%',
  '%ff%fe',
  'a=b&a=c',
  '\ufeff',
  '{}',
  'null',
];

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(...words, 0, 1, 2, 3, -1, Number.MAX_VALUE, null, {}, []),
);
const objectBody = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 12 })), value), { maxLength: 8 })
  .map(
    (entries) =>
      `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item) ?? 'null'}`).join()}}`,
  );
const formBody = fc
  .array(
    fc.tuple(
      fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 12 })),
      fc.oneof(fc.constantFrom(...words), fc.string()),
    ),
    { maxLength: 8 },
  )
  .map((entries) =>
    entries
      .map(([name, item]) => `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(item.toWellFormed())}`)
      .join('&'),
  );
const body = fc.oneof(
  { weight: 5, arbitrary: objectBody.map((text) => Buffer.from(text)) },
  { weight: 2, arbitrary: formBody.map((text) => Buffer.from(text)) },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }).map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.constantFrom(...nasty).map((text) => Buffer.from(text)) },
);
// Characters that node:http permits in a header value.
const headerText = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((point) => String.fromCharCode(point)),
  maxLength: 40,
});
const contentType = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...contentTypes) },
  { weight: 1, arbitrary: fc.constantFrom(...contentTypes).map((type) => `${type}; charset=utf-8`) },
  { weight: 1, arbitrary: headerText },
  { weight: 1, arbitrary: fc.constant(undefined) },
);
const extraHeader = fc.tuple(
  fc.constantFrom(
    'origin',
    'referer',
    'x-timestamp',
    'x-signature',
    'x-api-key',
    'x-service-key',
    'authorization',
    'content-encoding',
    'x-forwarded-for',
    'idempotency-key',
    'title',
    'priority',
    'tags',
    'actions',
    'attach',
  ),
  headerText,
);
/** Target → the member of a refusal there that is the status; null: there is none. */
const dialectTargets: Readonly<Record<string, string | null>> = {
  '/topic': 'http',
  '/ntfy': 'http',
  '/ntfy/topic': 'http',
  '/topic?title=%ff&priority=x&actions=%5B1': 'http',
  '/message': 'errorCode',
  '/message?message=x&extras=%7B': 'errorCode',
  '/notify': null,
  '/notify/x': null,
};
const request = fc.record({
  body,
  contentType,
  hasKey: fc.integer({ min: 0, max: 19 }).map((number) => number > 0),
  extra: fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: extraHeader }),
  target: fc.oneof(
    { weight: 20, arbitrary: fc.constant('/') },
    { weight: 1, arbitrary: fc.constantFrom('/x.y', '/?format=openapi', '//', '/%00', '/?') },
    { weight: 2, arbitrary: fc.constantFrom(...Object.keys(dialectTargets)) },
  ),
  method: fc.oneof(
    { weight: 20, arbitrary: fc.constant('POST') },
    { weight: 1, arbitrary: fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE') },
  ),
});
type HostileRequest = typeof request extends fc.Arbitrary<infer T> ? T : never;

suite('Hostile input', () => {
  let gateway: LocalGateway;
  before(async () => {
    gateway = await startLocalGateway();
  });
  after(() => gateway.stop());

  async function sendOne({ body: payload, contentType: type, hasKey, extra, target, method }: HostileRequest) {
    const headers: Record<string, string> = {
      ...(type !== undefined && { 'content-type': type }),
      ...(hasKey && { authorization: `Bearer ${gateway.key}` }),
      ...(extra && { [extra[0]]: extra[1] }),
    };
    return inject(gateway.app, {
      method: method as 'POST',
      url: target,
      headers,
      payload,
      // Spread over many addresses, so that the limit on failures does not end the test.
      remoteAddress: `198.51.${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}`,
    });
  }

  test(`gets a success or a listed refusal in ${cases.toLocaleString('en')} cases, and the prototype stays unchanged`, async (t) => {
    const prototypeBefore = Object.getOwnPropertyNames(Object.prototype).join();
    const seen = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: perRun, maxLength: perRun }), async (requests) => {
        const answers = await Promise.all(requests.map(sendOne));
        for (const [index, { statusCode, payload, headers }] of answers.entries()) {
          seen.set(statusCode, (seen.get(statusCode) ?? 0) + 1);
          assert.equal(headers['access-control-allow-origin'], '*');
          if (statusCode === 200 || statusCode === 204 || requests[index]?.method === 'HEAD') continue;
          const refusal = JSON.parse(payload) as Record<string, unknown>;
          const statusMember = dialectTargets[requests[index]?.target ?? ''];
          // Other methods than those of the dialect are refused in our own shape.
          if (statusMember !== undefined && !('ok' in refusal)) {
            if (statusMember !== null) assert.equal(refusal[statusMember], statusCode);
            assert.ok([400, 401, 405, 413, 415].includes(statusCode), payload);
            continue;
          }
          const { ok, code, requestId } = refusal as { ok: boolean; code: string; requestId: string };
          assert.equal(ok, false);
          assert.equal(listedErrors.get(code), statusCode, payload);
          assert.ok(statusCode < 500, payload);
          assert.equal(headers['x-request-id'], requestId);
        }
      }),
      { numRuns: Math.ceil(cases / perRun), endOnFailure: true },
    );
    assert.deepEqual(gateway.failures, []);
    assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), prototypeBefore);
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
    t.diagnostic(`responses by status: ${JSON.stringify(Object.fromEntries([...seen].sort()))}`);
    const total = [...seen.values()].reduce((sum, count) => sum + count, 0);
    assert.ok(total >= cases);
    // The generator must produce accepted requests, and refusals of more than one kind.
    for (const status of [200, 400, 401, 404, 405, 415])
      assert.ok((seen.get(status) ?? 0) > 100, `${status} was hardly seen`);
  });
});
