import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseAllowedDomain } from '@tocsin/contract';
import fixtures from '@tocsin/contract/fixtures/origin-policy.json' with { type: 'json' };
import { isOriginAllowed } from './origin-policy.ts';

suite('The origin policy', () => {
  for (const { allowedDomains, origin, referer, accepted } of fixtures.cases) {
    test(`${accepted ? 'accepts' : 'refuses'} origin ${origin} and referer ${referer} for ${allowedDomains.join(', ') || 'any domain'}`, () => {
      const headers = { origin: origin ?? undefined, referer: referer ?? undefined };
      assert.equal(isOriginAllowed(headers, allowedDomains), accepted);
    });
  }

  for (const [text, kept] of [
    ['example.com', 'example.com'],
    [' EXAMPLE.com. ', 'example.com'],
    ['https://example.com/', 'example.com'],
    ['*.Example.com', '*.example.com'],
    ['example.com:443', 'example.com:443'],
    ['example.com:08443', 'example.com:8443'],
    ['münchen.de', 'xn--mnchen-3ya.de'],
    ['[2001:DB8::1]:99', '[2001:db8::1]:99'],
    ['192.168.1.20', '192.168.1.20'],
    ['http://nas', 'nas'],
    ['nas:8080', 'nas:8080'],
    ['*.lan', '*.lan'],
    ['my_box.lan', 'my_box.lan'],
    ['localhost', 'localhost'],
  ] as const) {
    test(`keeps the allowed domain ${text} as ${kept}`, () => assert.equal(parseAllowedDomain(text), kept));
  }

  for (const text of [
    '',
    '*',
    '*.',
    'a b',
    'a/b',
    'u@example.com',
    '*.*.com',
    'example.com:x',
    'a..b:99999999',
    '::1',
    'not',
    'domain!!',
    'a b.example',
    '-.example',
    'a-.example',
    '.example.com',
    'a..example.com',
    'example.com:70000',
    '*.192.168.1.20',
    '999.1.1.1',
    "o'brien.example",
    'a,b.example',
    '(example.com)',
    '%65xample.com',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(140)}example`,
  ]) {
    test(`does not take ${JSON.stringify(text)} for a domain`, () => assert.equal(parseAllowedDomain(text), undefined));
  }
});
