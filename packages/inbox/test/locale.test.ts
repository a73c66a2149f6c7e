import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { formatLocale } from '../src/text/locale.ts';

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
