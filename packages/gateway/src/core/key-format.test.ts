import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { createKey, digestOf, hasWrongChecksum, isImportable } from './key-format.ts';

const newKey = (): string => createKey((below) => randomInt(below));

suite('API keys', () => {
  test('are svc_, 32 random characters and a checksum of 6', () => {
    const keys = new Set(Array.from({ length: 500 }, newKey));
    assert.equal(keys.size, 500);
    for (const key of keys) {
      assert.match(key, /^svc_[0-9A-Za-z]{38}$/);
      assert.equal(hasWrongChecksum(key), false);
      assert.equal(isImportable(key), true);
    }
  });

  test('keep their checksum from one version to the next', () => {
    // CRC-32 of "svc_" + 32 zeros is 0xd0b55eaa, in base62 3oy8NO.
    assert.equal(
      createKey(() => 0),
      'svc_000000000000000000000000000000003oy8NO',
    );
  });

  test('show any single mistyped character', () => {
    const key = newKey();
    for (let position = 4; position < key.length; position += 1) {
      const typo = key.slice(0, position) + (key[position] === 'x' ? 'y' : 'x') + key.slice(position + 1);
      assert.equal(hasWrongChecksum(typo), true, typo);
    }
  });

  test('of another shape are not judged by a checksum', () => {
    for (const key of ['svc_short', 'svc_with-other-characters-in-its-middle-part', 'abc'])
      assert.equal(hasWrongChecksum(key), false);
  });

  test('can be imported when they fit into a header and are long enough', () => {
    assert.equal(isImportable('svc_0123456789abcdef'), true);
    for (const key of [
      'svc_short',
      'other_0123456789abcdef',
      'svc_0123456789 abcdef',
      'svc_0123456789,abcdef',
      'svc_0123456789äabcdef',
      `svc_${'x'.repeat(201)}`,
    ]) {
      assert.equal(isImportable(key), false, key);
    }
  });

  test('have digests that differ', () => {
    fc.assert(fc.property(fc.string(), fc.string(), (a, b) => (a === b) === (digestOf(a) === digestOf(b))));
  });
});
