import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { canonicalDomains, keyLimits, keyProblems } from './key-fields.ts';

const now = 1000;
const plain = { label: null, allowedDomains: [], rateLimit: null, expiresAt: null };
const fieldsOf = (key: Partial<Parameters<typeof keyProblems>[0]>, options = {}): string[] =>
  keyProblems({ ...plain, ...key }, { now, ...options }).map(({ field }) => field);

suite('The fields of an API key', () => {
  test('are all optional', () => {
    assert.deepEqual(fieldsOf({}), []);
  });

  test('are reported in order, domains with their index', () => {
    const wrong = { label: '', allowedDomains: ['a.example', 'a b', 'x'], rateLimit: 'often', expiresAt: now };
    assert.deepEqual(fieldsOf(wrong), ['label', 'allowedDomains[1]', 'allowedDomains[2]', 'rateLimit', 'expiresAt']);
  });

  test('have a label of one printable line with a maximum length', () => {
    assert.deepEqual(fieldsOf({ label: ` ${'x'.repeat(100)} ` }), []);
    assert.deepEqual(fieldsOf({ label: 'x'.repeat(101) }), ['label']);
    assert.deepEqual(fieldsOf({ label: 'x'.repeat(200) }, { labelCharacters: 200 }), []);
    assert.deepEqual(fieldsOf({ label: 'a\nb' }), ['label']);
    assert.deepEqual(fieldsOf({ label: 'a\u202eb' }), ['label']);
  });

  test('have a rate limit with a unit', () => {
    for (const rateLimit of ['1/s', '100/m', ' 5/h ', '999999999/d']) assert.deepEqual(fieldsOf({ rateLimit }), []);
    for (const rateLimit of ['', '0/m', '1', '1/w', '-1/m', '1.5/m']) {
      assert.deepEqual(fieldsOf({ rateLimit }), ['rateLimit'], rateLimit);
    }
  });

  test('expire in the future, within the range of a Date', () => {
    assert.deepEqual(fieldsOf({ expiresAt: now + 1 }), []);
    assert.deepEqual(fieldsOf({ expiresAt: keyLimits.expiresAt }), []);
    for (const expiresAt of [now, 0, Number.NaN, now + 0.5, keyLimits.expiresAt + 2]) {
      assert.deepEqual(fieldsOf({ expiresAt }), ['expiresAt'], String(expiresAt));
    }
  });

  test('store domains in canonical form, each once', () => {
    assert.deepEqual(canonicalDomains(['Example.COM', 'https://example.com/', '*.example.com']), [
      'example.com',
      '*.example.com',
    ]);
  });
});
