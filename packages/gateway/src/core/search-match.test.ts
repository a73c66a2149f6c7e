import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { NotificationContent } from '@tocsin/contract';
import { createMatch as createMatchOf, type Match } from './search-match.ts';

const createMatch = (query: string): Match => createMatchOf({ query, severities: null, categories: null });

const backup: NotificationContent = {
  title: 'Nightly backup',
  body: 'Straße der Köche, Łódź',
  source: 'cron@db-1',
  category: 'task',
  severity: null,
  data: { host: 'DB-1', steps: [{ 'Größe in MB': 1742.5, done: true }, 'Ολυμπος'], owner: null },
};

const finds = (query: string): boolean => createMatch(query)(backup);

suite('A search finds a notification', () => {
  test('by words of its title, body and source, in any order and case, also by parts of words', () => {
    assert.ok(finds('BACKUP night'));
    assert.ok(finds('cron@db nightly köche'));
    assert.ok(finds('  \u00a0 '), 'no words: everything');
    assert.ok(finds(''));
  });

  test('by names and values of its data, however deep', () => {
    for (const query of ['host', 'db-1', '1742.5', 'true done', 'steps olυμπος'.replace('ol', 'ολ')]) {
      assert.ok(finds(query), query);
    }
  });

  test('with accents or without, composed or not, in any script', () => {
    const spellings = [
      'kuche kóche',
      'koche',
      'KO\u0308CHE',
      'strasse',
      'STRASSE',
      'lodz',
      'groesse',
      'grosse',
      'ΟΛΥΜΠΟΣ',
    ];
    assert.deepEqual(
      spellings.filter((query) => !finds(query)),
      ['kuche kóche', 'groesse'],
    );
    assert.ok(finds('ｂａｃｋｕｐ'), 'full width');
    assert.ok(createMatch('한국')({ ...backup, title: '한국어' }));
    assert.ok(!createMatch('가')({ ...backup, title: '각' }), 'another syllable of Hangul');
  });

  test('whose accents are more than anybody writes, by its letters', () => {
    const body = `Co${'\u0301\u0316\uff9e'.repeat(1000)}pia`;
    assert.ok(createMatch('copia')({ ...backup, body }));
    const data = { text: `Co${'\u0301\u0316'.repeat(1_000_000)}pia` };
    assert.ok(createMatch('copia')({ ...backup, data }));
    assert.ok(createMatch(`co${'\u0316\u0301'.repeat(99)}pia`)({ ...backup, body }));
  });

  test('only with one of the severities and categories asked for', () => {
    const matches = (severities: string[] | null, categories: string[] | null): boolean =>
      createMatchOf({ query: '', severities, categories })(backup);
    assert.ok(matches(['none', 'error'], ['task']));
    assert.ok(!matches(['error'], null));
    assert.ok(!matches(null, ['info']));
  });

  test('only where every word occurs, each within one text', () => {
    assert.ok(!finds('nightly restore'));
    assert.ok(!finds('backupStraße'), 'not across the end of the title');
    assert.ok(!finds('.*'), 'words are no patterns');
  });
});
