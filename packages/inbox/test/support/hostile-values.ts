// Values of the maximum request size, each designed to be slow for some kind of text processing.

const size = 240_000;
const fill = (start: string, repeated: string): string =>
  start + repeated.repeat(Math.floor((size - start.length) / repeated.length));

export const hostileTexts: Readonly<Record<string, string>> = {
  'one long word': fill('', 'x'),
  'white space': fill('', ' '),
  'white space with a word at its end': `${fill('', ' ').slice(1)}x`,
  'line breaks': fill('', '\n'),
  'opening brackets': fill('', '('),
  'closing brackets behind an address': fill('https://a.example/', ')'),
  'all closing brackets behind an address': fill('https://a.example/', ')]}'),
  'brackets and full stops behind an address': fill('https://a.example/', ').'),
  'punctuation behind an address': fill('https://a.example/', '.'),
  'punctuation with letters between': fill('https://a.example/', '...................x'),
  addresses: fill('', 'https://a.example/ '),
  'addresses without white space': fill('', 'https://a.example/'),
  'beginnings of addresses': fill('', 'http'),
  'schemes alone': fill('', 'https://'),
  'a host outside of ASCII': fill('https://', 'ü'),
  'a host of many labels': fill('https://', 'a.'),
  'an address with signs to be encoded': fill('https://a.example/', '%|^'),
  'combining marks': fill('a', '\u0301'),
  'ligatures that decompose': fill('', '\ufdfa'),
  'characters of two units': fill('', '😀'),
  'joined emoji': fill('👩', '\u200d👩'),
  'half characters': fill('', '\ud800'),
  'direction marks': fill('', '\u202e\u2066'),
  'quotation marks and markup': fill('', '"\'<&>'),
};

/** The maximum nesting depth of a request. */
const depth = 32;

export const hostileData: Readonly<Record<string, Record<string, unknown>>> = {
  ...Object.fromEntries(Object.entries(hostileTexts).map(([name, value]) => [name, { value }])),
  'many fields': Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`field ${index}`, 'x'.repeat(900)])),
  'many items': { items: Array.from({ length: 60_000 }, (_, index) => index % 10) },
  'deep objects': { deep: nested(depth - 2, (inner) => ({ a: inner, b: 'x'.repeat(6000) })) },
  'deep and wide': { deep: nested(depth - 2, (inner) => [inner, ...Array.from({ length: 1000 }, () => 0)]) },
  'long names': Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}${'k'.repeat(10_000)}`, index])),
};

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  return levels === 0 ? 0 : wrap(nested(levels - 1, wrap));
}
