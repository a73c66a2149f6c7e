// Contents within the limit of a request, each built to make one step of reading, searching or delivering them expensive.
import { type JsonObject, limits } from '@tocsin/contract';

export interface HostileContent {
  name: string;
  content: { title?: string; body?: string; source?: string; data?: JsonObject };
}

/** Leaves room for a title and a body of the same text. */
const bytes = limits.requestBytes - 30_000;

/** Repeats the text as often as it fits, as UTF-8 in JSON. */
function repeat(unit: string): string {
  return unit.repeat(Math.floor(bytes / (Buffer.byteLength(JSON.stringify(unit)) - 2)));
}

function nested(depth: number): JsonObject {
  return depth === 0 ? {} : { a: nested(depth - 1) };
}

const texts: [name: string, text: string][] = [
  ['combining marks out of order', `a${repeat('\u0301\u0316')}`],
  ['Tibetan vowel signs out of order', repeat('\u0f72\u0f71')],
  ['marks between half-width marks, which are letters', repeat('\u0301\uff9e')],
  ['marks that join and do not', repeat('\u0345\u0300\u034f')],
  ['one character that decomposes into eighteen', repeat('\ufdfa')],
  ['syllables of Hangul', repeat('\uac01')],
  ['half surrogate pairs', repeat('\ud800')],
  ['letters that grow in upper case', repeat('\u0390')],
  ['bidi controls', repeat('\u202e\u2066')],
  ['control characters', repeat('\u0001')],
  ['line breaks', repeat('\n')],
  ['spaces', `a${repeat(' ')}b`],
  ['addresses', repeat('https://example.com/a ')],
  ['one long address', `https://example.com/${repeat('a')}`],
  ['an address with closing brackets', `https://example.com/${repeat(')')}`],
  ['beginnings of addresses', repeat('https://')],
  ['dots after an address', `https://example.com/${repeat('.')}`],
  ['angle brackets', repeat('<')],
  ['ampersands', repeat('&')],
  ['quotes', repeat('"')],
  ['what a backtracking pattern hates', `${repeat('a')}!`],
  ['emoji joined into one', repeat('👩\u200d')],
];

const datas: [name: string, data: JsonObject][] = [
  ['many fields', Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 0]))],
  ['many fields with names of marks', Object.fromEntries(namesOfMarks(2000))],
  ['deep objects, many times', { list: Array.from({ length: 1000 }, () => nested(limits.nestingDepth - 5)) }],
  ['many empty lists', { list: Array.from({ length: 80_000 }, () => []) }],
  ['many addresses', { list: Array.from({ length: 8000 }, (_, index) => `https://example.com/${index}`) }],
  ['many small texts', { list: Array.from({ length: 40_000 }, (_, index) => `ä${index % 10}`) }],
  ['a mark in each of many texts', { list: Array.from({ length: 30_000 }, () => '\u0301\u0316') }],
];

function namesOfMarks(count: number): [string, number][] {
  return Array.from({ length: count }, (_, index) => [`${'\u0301\u0316'.repeat(25)}${index}`, index]);
}

/** Title and body are truncated when they are accepted, so only data can be large. */
export function hostileContents(): HostileContent[] {
  return [
    ...texts.map(([name, text]) => ({
      name,
      content: { title: text.slice(0, 200), body: text.slice(0, 3000), data: { text } },
    })),
    ...datas.map(([name, data]) => ({ name, content: { title: 'x', data } })),
  ].map(({ name, content }) => ({ name, content: withinLimit(name, content) }));
}

function withinLimit(name: string, content: HostileContent['content']): HostileContent['content'] {
  const size = Buffer.byteLength(JSON.stringify(content));
  if (size > limits.requestBytes) throw new Error(`The content '${name}' has ${size} bytes.`);
  return content;
}
