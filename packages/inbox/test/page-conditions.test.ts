import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { passkeyObstacle } from '../src/passkeys.ts';
import { formatLocale } from '../src/text/locale.ts';

suite('What is missing for passkeys', () => {
  const at = (address: string, isOffered = false): string | null =>
    passkeyObstacle(isOffered, new URL(address) as unknown as Location);

  test('is a name where the page was opened by its number', () => {
    for (const address of ['http://192.168.1.20:8081', 'https://192.168.1.20', 'http://[::1]:8081'])
      assert.equal(at(address), 'needName', address);
  });

  test('is https where the page was opened by name', () => {
    assert.equal(at('http://nas.lan:18081'), 'needHttps');
    assert.equal(at('http://nas'), 'needHttps');
  });

  test('is a name where the page is fine and the configured address of the console is not', () => {
    assert.equal(at('https://nas.example'), 'needName');
    assert.equal(at('http://localhost:8081'), 'needName');
  });

  test('is the browser where the address is fine', () => {
    assert.equal(at('https://nas.example', true), 'tooOld', 'Node has no passkeys');
  });
});

suite('The locale of dates', () => {
  test('is the language of the page in the region of the reader', () => {
    assert.equal(formatLocale('en', 'de-DE'), 'en-DE');
    assert.equal(formatLocale('en', 'de'), 'en-DE');
    assert.equal(formatLocale('en', 'en-GB'), 'en-GB');
    assert.equal(formatLocale('en', 'zh-Hant-TW'), 'en-TW');
    assert.equal(formatLocale('en', undefined), 'en-US');
    assert.equal(formatLocale('en', 'not a locale'), 'en');
    const time = new Intl.DateTimeFormat(formatLocale('en', 'de-DE'), { timeStyle: 'short', timeZone: 'UTC' });
    assert.equal(time.format(15 * 3_600_000), '15:00');
  });
});
