// The state of the inbox and its changes.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { InboxEntry } from '@tocsin/contract/console';
import { dataRows } from '../src/inbox/data-rows.ts';
import { addEntries, addPage, emptyFeed, neighbour, refresh } from '../src/inbox/feed.ts';
import { needsSearch, readFilters, writeFilters } from '../src/inbox/filters.ts';
import { applyLines, initialSearch, interruptSearch, readLines } from '../src/inbox/search-stream.ts';

const entry = (id: string, isRead = false): InboxEntry => ({
  id,
  title: id,
  body: '',
  source: 'test',
  category: 'info',
  severity: null,
  data: {},
  createdAt: 0,
  isRead,
});
const page = (ids: string, next: string | null = null, damaged = 0) => ({
  notifications: [...ids].map((id) => entry(id)),
  next,
  damaged,
});
const idsOf = (entries: readonly InboxEntry[]): string => entries.map(({ id }) => id).join('');
const keepNone = (): boolean => false;

suite('The list', () => {
  test('stays sorted and without duplicates, in any order of arrival', () => {
    const feed = addPage(addPage(emptyFeed, page('98', '8', 1)), page('876', '6', 2));
    assert.deepEqual({ ...feed, entries: idsOf(feed.entries) }, { entries: '9876', next: '6', damaged: 3 });
    assert.equal(idsOf(addEntries(feed.entries, [entry('7'), entry('a')])), 'a9876');
  });

  test('has the cursor of the next page after its first page', () => {
    const first = refresh(emptyFeed, page('98', '8'), keepNone);
    assert.deepEqual([idsOf(first.entries), first.next], ['98', '8']);
  });

  test('drops deleted rows on a refresh, and keeps rows older than the response', () => {
    const feed = addPage(emptyFeed, page('987654', '4'));
    const partly = refresh(feed, page('976', '6'), keepNone);
    assert.deepEqual([idsOf(partly.entries), partly.next], ['97654', '4']);
    const whole = refresh(feed, page('95'), keepNone);
    assert.deepEqual([idsOf(whole.entries), whole.next], ['95', null]);
    assert.equal(idsOf(refresh(feed, page(''), keepNone).entries), '');
    assert.equal(idsOf(refresh(feed, page('95'), ({ id }) => id === '7').entries), '975', 'rows selected by keep stay');
  });

  test('finds the neighbours of a row, even of a deleted one', () => {
    const { entries } = addPage(emptyFeed, page('975'));
    const around = (id: string): (string | undefined)[] => [
      neighbour(entries, id, 'newer')?.id,
      neighbour(entries, id, 'older')?.id,
    ];
    assert.deepEqual(around('7'), ['9', '5']);
    assert.deepEqual(around('6'), ['7', '5']);
    assert.deepEqual(around('9'), [undefined, '7']);
  });
});

suite('Filters', () => {
  test('are read from the address as they were written', () => {
    const address = '?q=a%26b+c&severity=error%2Cnone&category=task&unread=1';
    assert.equal(writeFilters(readFilters(address)), address);
    assert.equal(writeFilters(readFilters('')), '');
  });

  test('ignore unknown values in the address', () => {
    const { severity, category, unread, q } = readFilters(
      `?severity=worst,error,error&category=__proto__&unread=yes&q=${'x'.repeat(300)}`,
    );
    assert.deepEqual([severity, category, unread, q.length], [['error'], [], false, 200]);
  });

  test('need a search only if rows must be decrypted', () => {
    assert.equal(needsSearch(readFilters('?unread=1&q=%20')), false);
    assert.equal(needsSearch(readFilters('?severity=none')), true);
  });
});

suite('A search', () => {
  async function* bytes(...parts: string[]): AsyncGenerator<Uint8Array> {
    for (const part of parts) yield Buffer.from(part, 'latin1');
  }

  test('is read line by line, wherever the chunks are split', async () => {
    const whole = Buffer.from(`${JSON.stringify({ kind: 'failed', error: 'ö🚲' })}\n{"kind":"x"}\n`).toString('latin1');
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const lines = await Array.fromAsync(readLines(bytes(whole.slice(0, cut), whole.slice(cut))));
      assert.deepEqual(lines.flat(), [{ kind: 'failed', error: 'ö🚲' }, { kind: 'x' }]);
    }
  });

  test('adds up the counts of its requests', () => {
    const end = { kind: 'end', opened: 100, matched: 2, damaged: 1, skipped: 1, next: '7' } as const;
    const first = applyLines(initialSearch, initialSearch, [
      { kind: 'match', notification: entry('9') },
      { kind: 'match', notification: entry('8') },
      end,
    ]);
    assert.equal(idsOf(first.found), '98');
    assert.deepEqual(
      [first.search.phase, first.search.searched, first.search.matched, first.search.next],
      ['paused', 100, 2, '7'],
    );
    const { search } = applyLines(first.search, first.search, [{ ...end, opened: 50, matched: 1, next: null }]);
    assert.deepEqual(
      [search.phase, search.searched, search.matched, search.damaged, search.skipped],
      ['complete', 150, 3, 2, 2],
    );
  });

  test('can continue after it was cancelled', () => {
    const reachedAt = Date.parse('2026-03-03T00:00:00Z');
    const { search } = applyLines(initialSearch, initialSearch, [
      { kind: 'progress', opened: 5, matched: 0, reachedAt },
    ]);
    const { phase, next } = interruptSearch(search, 'cancelled');
    assert.equal(phase, 'cancelled');
    assert.match(next ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-7000-8000-0{12}$/);
    assert.equal(Number.parseInt((next ?? '').replaceAll('-', '').slice(0, 12), 16), reachedAt + 1);
    assert.equal(interruptSearch(initialSearch, 'cancelled').next, null, 'it had not started');
  });
});

suite('The data table', () => {
  const shown = (data: InboxEntry['data'], toggled: string[] = [], limit = 1000): string[] =>
    dataRows(data, new Set(toggled), limit).map(
      ({ depth, key, kind, content, isOpen }) =>
        `${'  '.repeat(depth)}${key} ${kind} ${content}${isOpen === null ? '' : isOpen ? ' -' : ' +'}`,
    );

  test('distinguishes all kinds of values', () => {
    assert.deepEqual(shown({ a: 'true', b: true, c: 0, d: null, e: '', f: {}, g: [], h: 'null' }), [
      'a text true',
      'b boolean true',
      'c number 0',
      'd null null',
      'e empty empty text',
      'f empty no fields',
      'g empty no items',
      'h text null',
    ]);
  });

  test('shows nested values below their parent, with array indexes from 1', () => {
    assert.deepEqual(shown({ disk: { free: 1, mounts: ['/', { at: '/home' }] } }), [
      'disk object 2 fields -',
      '  free number 1',
      '  mounts array 2 items -',
      '    1 text /',
      '    2 object 1 field -',
      '      at text /home',
    ]);
  });

  test('collapses deep or large values until they are expanded', () => {
    const deep = { a: { b: { c: { d: { e: 1 } } } } };
    assert.deepEqual(shown(deep).at(-1), '      d object 1 field +');
    assert.deepEqual(shown(deep, ['["a","b","c","d"]']).at(-1), '        e number 1');
    assert.deepEqual(shown(deep, ['["a"]']), ['a object 1 field +']);
    assert.deepEqual(shown({ list: Array.from({ length: 21 }, () => 1) }), ['list array 21 items +']);
  });

  test('treats all keys as plain names, and returns at most the given number of rows', () => {
    const data = JSON.parse('{"__proto__":{"constructor":"x"},"toString":1}');
    assert.deepEqual(shown(data), ['__proto__ object 1 field -', '  constructor text x', 'toString number 1']);
    assert.equal(shown({ list: Array.from({ length: 5000 }, () => 1) }, ['["list"]'], 100).length, 100);
  });
});
