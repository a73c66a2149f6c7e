import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { emptyKeyForm, findInvalidDomain, readKeyForm } from '../src/pages/keys/key-form.ts';

const day = 24 * 60 * 60 * 1000;

suite('The form for a new key', () => {
  test('omits restrictions whose fields are empty', () => {
    assert.deepEqual(readKeyForm(emptyKeyForm, 0), {
      type: 'public_client',
      label: null,
      allowedDomains: [],
      requireSignature: false,
      rateLimit: null,
      expiresAt: null,
    });
  });

  test('accepts domains on lines or separated by commas or semicolons; combines rate and unit, and converts days to a time', () => {
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

  test('finds the first entry that is not a domain', () => {
    assert.equal(findInvalidDomain(emptyKeyForm), null);
    assert.equal(findInvalidDomain({ ...emptyKeyForm, domains: 'a.example\nhttps://b.example/, *.c.example' }), null);
    assert.equal(findInvalidDomain({ ...emptyKeyForm, domains: 'a.example\nnot a domain!!' }), 'not a domain!!');
    assert.equal(findInvalidDomain({ ...emptyKeyForm, domains: 'example' }), 'example');
  });

  test('does not treat a missing date as "never"', () => {
    assert.equal(readKeyForm({ ...emptyKeyForm, expiry: 'date' }, 0).expiresAt, 0);
  });
});
