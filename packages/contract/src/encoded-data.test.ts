import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { EncodedData, stringify } from './encoded-data.ts';

const encode = (json: string): EncodedData => new EncodedData({ json, keys: [], excerpt: { members: {}, count: 0 } });

suite('Encoded data', () => {
  test('is copied into JSON text where its object would be', () => {
    const [first, second] = ['{"b":[1,2]}', '{"text":"\\"\\\\u0041\\""}'];
    const items = [{ a: 1, data: encode(first) }, null, { data: encode(second), z: 'end' }];
    assert.equal(stringify({ items }), `{"items":[{"a":1,"data":${first}},null,{"data":${second},"z":"end"}]}`);
    assert.equal(stringify(encode(first)), first);
  });

  test('is not confused with text that resembles its placeholder', () => {
    const texts = [
      'A',
      '\\u0041',
      '"\\u0041"',
      '\\"\\u0041\\"',
      '\\\\u0041',
      '"\\\\u0041"',
      '$&',
      "$'",
      '\u0000\ud800',
    ];
    const object = Object.fromEntries(texts.map((text) => [text, text]));
    assert.equal(stringify({ texts, object, data: encode('{}') }), JSON.stringify({ texts, object, data: {} }));
  });

  test('is parsed by JSON.stringify, and by stringify after an error', () => {
    assert.equal(JSON.stringify({ data: encode('{"a":1}') }), '{"data":{"a":1}}');
    const cyclic: Record<string, unknown> = { data: encode('{}') };
    cyclic.self = cyclic;
    assert.throws(() => stringify(cyclic), TypeError);
    assert.equal(JSON.stringify([encode('{"a":1}')]), '[{"a":1}]');
  });
});
