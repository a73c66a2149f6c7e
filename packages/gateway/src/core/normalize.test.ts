import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { JsonObject } from '@tocsin/contract';
import fixtures from '@tocsin/contract/fixtures/requests.json' with { type: 'json' };
import fc from 'fast-check';
import { parseNetwork } from './address-policy.ts';
import { normalize } from './normalize.ts';
import { bodyFormat, parseBody } from './parse-body.ts';
import { Refusal } from './refusal.ts';

const strict = { allowed: [] };

interface Case {
  name: string;
  contentType: string | null;
  body: string;
  normalized?: JsonObject;
  error?: { status: number; code: string; fields?: string[] };
}

function read(contentType: string | null, body: string | Buffer, policy: Parameters<typeof normalize>[1] = strict) {
  return normalize(parseBody(bodyFormat({ 'content-type': contentType ?? undefined }), Buffer.from(body)), policy);
}

function refusalOf(run: () => unknown): Refusal {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof Refusal, `${error}`);
    return error;
  }
  return assert.fail('it was not refused');
}

suite('Normalization', () => {
  for (const { name, contentType, body, normalized, error } of fixtures.cases as Case[]) {
    test(name, () => {
      if (error === undefined) {
        const { content, ...options } = read(contentType, body);
        // As JSON, since the merged data has no prototype and the fixture's has.
        assert.deepEqual(JSON.parse(JSON.stringify({ ...content, ...options })), {
          ...fixtures.defaults,
          ...normalized,
        });
      } else {
        const refusal = refusalOf(() => read(contentType, body));
        assert.equal(refusal.code, error.code);
        if (error.fields)
          assert.deepEqual(
            refusal.details.map(({ field }) => field),
            error.fields,
          );
      }
    });
  }

  test('The content has its fields in the order in which rows and messages hold them', () => {
    const { content } = read(null, '{"severity":"error","a":1,"category":"task","source":"s","body":"b","title":"t"}');
    assert.equal(
      JSON.stringify(content),
      '{"title":"t","body":"b","source":"s","category":"task","severity":"error","data":{"a":1}}',
    );
  });

  test('Merged data has no prototype', () => {
    assert.equal(Object.getPrototypeOf(read(null, '{"title":"x","a":1}').content.data), null);
  });

  test('Invalid UTF-8 is refused in every format', () => {
    const bytes = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain']) {
      assert.equal(refusalOf(() => read(type, bytes)).code, 'invalid_body');
    }
  });

  test('A compressed body is refused, an identity encoding is not', () => {
    for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'x', 'identity, gzip']) {
      assert.equal(refusalOf(() => bodyFormat({ 'content-encoding': encoding })).code, 'unsupported_content_type');
    }
    assert.equal(bodyFormat({ 'content-encoding': 'identity' }), 'text');
  });

  test('A network that the operator allows may hold a custom broker', () => {
    const body = '{"title":"x","mqttConnection":{"mode":"custom"},"mqttConfig":{"host":"127.0.0.1"}}';
    assert.equal(refusalOf(() => read(null, body)).code, 'invalid_body');
    const allowed = [parseNetwork('127.0.0.1/32')].filter((network) => network !== undefined);
    assert.equal(read(null, body, { allowed }).customBroker?.host, '127.0.0.1');
    assert.equal(refusalOf(() => read(null, body.replace('127.0.0.1', '127.0.0.2'), { allowed })).code, 'invalid_body');
  });

  test('What a refusal says never repeats what was sent', () => {
    const secret = 'canary-secret';
    const body = JSON.stringify({
      title: { [secret]: secret },
      mqttConnection: { mode: 'custom' },
      mqttConfig: { url: `ws://${secret}`, password: { [secret]: 1 } },
    });
    const unknownMember = JSON.stringify({
      title: 'x',
      mqttConnection: { mode: 'custom' },
      mqttConfig: { [secret]: secret },
    });
    for (const text of [body, unknownMember]) {
      const { message, details } = refusalOf(() => read(null, text));
      assert.ok(details.length > 0);
      assert.ok(!JSON.stringify([message, details]).includes(secret));
    }
  });

  test('Any JSON object gives a request within the limits, or a refusal', () => {
    const names = [
      'title',
      'body',
      'message',
      'text',
      'payload',
      'data',
      'severity',
      'sendPush',
      'mqttQos',
      '__proto__',
      'x',
    ];
    const anyObject = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), fc.jsonValue({ maxDepth: 4 }));
    fc.assert(
      fc.property(anyObject, (object) => {
        try {
          const { title, body, source, data } = read('application/json', JSON.stringify(object)).content;
          assert.ok([...title].length <= 140 && title === title.trimStart());
          assert.ok([...body].length <= 2000);
          assert.ok([...source].length <= 200);
          assert.ok(!('mqttConfig' in data) && !Object.hasOwn(data, '__proto__'));
        } catch (error) {
          assert.ok(error instanceof Refusal, `${error}`);
        }
      }),
      { numRuns: 5000 },
    );
    assert.equal(Object.keys(Object.prototype).length, 0);
  });
});
