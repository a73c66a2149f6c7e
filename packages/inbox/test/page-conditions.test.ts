import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { passkeyObstacle } from '../src/passkeys.ts';
import { formatLocale } from '../src/text/locale.ts';

suite('The obstacle for passkeys', () => {
  const at = (address: string, isOffered = false): string | null =>
    passkeyObstacle(isOffered, new URL(address) as unknown as Location);

  test('is the missing host name if the page was opened by IP address', () => {
    for (const address of ['http://192.168.1.20:8081', 'https://192.168.1.20', 'http://[::1]:8081'])
      assert.equal(at(address), 'needName', address);
  });

  test('is missing HTTPS if the page was opened by host name', () => {
    assert.equal(at('http://nas.lan:18081'), 'needHttps');
    assert.equal(at('http://nas'), 'needHttps');
  });

  test('is the configured address of the console if the address of the page is suitable', () => {
    assert.equal(at('https://nas.example'), 'needName');
    assert.equal(at('http://localhost:8081'), 'needName');
  });

  test('is the browser if the address is suitable', () => {
    assert.equal(at('https://nas.example', true), 'tooOld', 'Node has no passkeys');
  });
});

suite('The locale of dates and numbers', () => {
  test('is the language of the page with the region of the browser', () => {
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
