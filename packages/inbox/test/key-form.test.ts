import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { emptyKeyForm, findInvalidDomain, readKeyForm } from '../src/pages/keys/key-form.ts';

const day = 24 * 60 * 60 * 1000;

suite('The form of a new key', () => {
  test('what is left empty asks for nothing', () => {
    assert.deepEqual(readKeyForm(emptyKeyForm, 0), {
      type: 'public_client',
      label: null,
      allowedDomains: [],
      requireSignature: false,
      rateLimit: null,
      expiresAt: null,
    });
  });

  test('domains may stand on lines or between commas; rate and days are put together', () => {
    const form = {
      ...emptyKeyForm,
      domains: ' a.example,\n*.b.example ;c.example',
      rateCount: '5',
      expiry: '30' as const,
    };
    const { allowedDomains, rateLimit, expiresAt } = readKeyForm(form, 1000);
    assert.deepEqual(allowedDomains, ['a.example', '*.b.example', 'c.example']);
    assert.deepEqual([rateLimit, expiresAt], ['5/m', 1000 + 30 * day]);
  });

  test('an entry that is no domain is named', () => {
    assert.equal(findInvalidDomain(emptyKeyForm), null);
    assert.equal(findInvalidDomain({ ...emptyKeyForm, domains: 'a.example\nhttps://b.example/, *.c.example' }), null);
    assert.equal(findInvalidDomain({ ...emptyKeyForm, domains: 'a.example\nnot a domain!!' }), 'not a domain!!');
    assert.equal(findInvalidDomain({ ...emptyKeyForm, domains: 'example' }), 'example');
  });

  test('a date that is missing is never taken for "never"', () => {
    assert.equal(readKeyForm({ ...emptyKeyForm, expiry: 'date' }, 0).expiresAt, 0);
  });
});
