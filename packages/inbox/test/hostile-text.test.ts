// Untrusted text is processed on the main thread of the page, so no value may block it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { dataRows, summarize } from '../src/inbox/data-rows.ts';
import { highlight } from '../src/inbox/highlight.ts';
import { previewOf } from '../src/inbox/preview.ts';
import { readLines } from '../src/inbox/search-stream.ts';
import { foldText } from '../src/inbox/text-fold.ts';
import { linkedCharacters, splitLinks } from '../src/inbox/text-links.ts';
import { toNotification } from '../src/service-worker/push-message.ts';
import { hostileData, hostileTexts } from './support/hostile-values.ts';

/** Far above linear work (about 20 ms) and far below quadratic work (minutes). */
const limitMs = 20_000;

function expectQuick<T>(what: string, work: () => T): T {
  const started = performance.now();
  const result = work();
  const tookMs = performance.now() - started;
  assert.ok(tookMs < limitMs, `${what} took ${Math.round(tookMs)} ms`);
  return result;
}

type Data = Parameters<typeof dataRows>[0];

suite('Hostile text of 240 KB', () => {
  for (const [name, value] of Object.entries(hostileTexts)) {
    test(`is split into links, highlighted, previewed and folded in linear time: ${name}`, () => {
      const pieces = expectQuick('splitLinks', () => splitLinks(value));
      assert.equal(pieces.map(({ text }) => text).join(''), value);
      const marked = expectQuick('highlight', () => highlight(value, 'a x ( . https'));
      assert.equal(marked.map(({ text }) => text).join(''), value);
      assert.ok(expectQuick('previewOf', () => previewOf({ body: value, data: {} })).length <= 200);
      const { shown, hidden } = expectQuick('foldText', () => foldText(value, 2000));
      assert.ok(shown.length <= 2000 && shown.length + hidden === value.length);
      const message = JSON.stringify({ id: '1', title: value, body: '', data: { value } });
      expectQuick('toNotification', () => toNotification(message, { isInfoSilent: false }));
    });
  }

  for (const [name, data] of Object.entries(hostileData)) {
    test(`is laid out as rows in linear time: ${name}`, () => {
      const rows = expectQuick('dataRows', () => dataRows(data as Data, new Set(), 301));
      assert.ok(rows.length <= 301);
      expectQuick('summarize', () => summarize(data as Data));
      // Every container expanded.
      const paths = new Set(rows.filter(({ isOpen }) => isOpen === false).map(({ path }) => path));
      expectQuick('dataRows, expanded', () => dataRows(data as Data, paths, 301));
    });
  }

  test('is read from a search in small pieces', async () => {
    const line = { kind: 'match', notification: { id: '1', title: hostileTexts['one long word'] } };
    const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 500) yield bytes.subarray(at, at + 500);
    }
    const started = performance.now();
    const lines = (await Array.fromAsync(readLines(chunks()))).flat();
    assert.deepEqual(lines, [line]);
    assert.ok(performance.now() - started < limitMs);
  });
});

suite('Links in long text', () => {
  const links = (content: string): string[] =>
    splitLinks(content).flatMap(({ text, href }) => (href === null ? [] : [text]));

  test('are found near its start, and none is truncated', () => {
    const address = 'https://a.example/some/path';
    assert.deepEqual(links(`${address} ${'x'.repeat(240_000)} ${address}`), [address]);
    // It starts before the end of the searched range and ends after it.
    assert.deepEqual(links(`${'x'.repeat(linkedCharacters - 12)} ${address}`), []);
    assert.deepEqual(links(`${'x'.repeat(linkedCharacters - 1 - address.length)} ${address}`), [address]);
  });

  test('are not made from a truncated address', () => {
    const cut = 'See https://a.example/x and https://b.example/pa';
    assert.deepEqual(
      splitLinks(cut, true).flatMap(({ text, href }) => (href === null ? [] : [text])),
      ['https://a.example/x'],
    );
  });

  test('are not made from very long addresses', () => {
    assert.deepEqual(links(`https://a.example/${'x'.repeat(3000)} https://b.example/`), ['https://b.example/']);
  });
});

suite('Folded text', () => {
  test('is cut between characters, never within a surrogate pair', () => {
    assert.deepEqual(foldText('abc', 3), { shown: 'abc', hidden: 0 });
    assert.deepEqual(foldText('ab😀', 3), { shown: 'ab', hidden: 2 });
    assert.deepEqual(foldText(`a${'\u0301'.repeat(5)}`, 3), { shown: 'a\u0301\u0301', hidden: 3 });
  });
});
