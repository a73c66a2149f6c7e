// Bodies just within the limit of 256 KiB, each built to make one step of request processing expensive.
import { limits } from '../packages/contract/src/index.ts';

export interface HostileBody {
  name: string;
  contentType: string;
  text: string;
}

const size = limits.requestBytes;
const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const plain = 'text/plain';

/** Repeats an item as often as it fits between the two ends. */
function fill(open: string, item: (index: number) => string, close: string, separator = ','): string {
  const items: string[] = [];
  let left = size - Buffer.byteLength(open) - Buffer.byteLength(close);
  for (let index = 0; ; index += 1) {
    const next = item(index);
    left -= Buffer.byteLength(next) + separator.length;
    if (left < 0) return open + items.join(separator) + close;
    items.push(next);
  }
}

/** A text of the right length, for an item whose wrapping counts towards the limit. */
function repeat(open: string, unit: string, close: string): string {
  return open + unit.repeat(Math.floor((size - open.length - close.length) / Buffer.byteLength(unit))) + close;
}

function nest(open: string, inner: string, close: string, around: [string, string]): string {
  const depth = Math.floor((size - around[0].length - around[1].length - inner.length) / (open.length + close.length));
  return around[0] + open.repeat(depth) + inner + close.repeat(depth) + around[1];
}

/** Nested to the allowed depth, over and over, so that the whole tree is walked. */
function allowedNesting(): string {
  const depth = limits.nestingDepth - 2;
  const item = '['.repeat(depth) + ']'.repeat(depth);
  return fill('{"payload":[', () => item, ']}');
}

/** Beyond this length V8 uses a string's length as its hash, so keys of one length all collide. */
const unhashedLength = 16_384;

function unhashedKeys(): string {
  return fill('{"payload":{', (index) => `"${String(index).padStart(unhashedLength, 'k')}":0`, '}}');
}

/**
 * Halfway between two doubles, distinguished only by the last digit: the digits do not fit into a machine word, and
 * the parser has to compare big numbers.
 */
function halfwayNumbers(): string {
  const halfway = String(2n ** 53n + 1n);
  return fill('{"payload":[', (index) => `${halfway}.${'0'.repeat(700)}${index % 10}`, ']}');
}

/** Characters that are all different and outside of ASCII: encoding a host name of n of them takes about n² steps. */
function differentIdeographs(): string {
  return fill(
    '{"title":"x","mqttConnection":{"mode":"custom"},"mqttConfig":{"url":"wss://',
    (index) => String.fromCodePoint(index < 20_000 ? 0x4e00 + index : 0x20000 + index),
    '/"}}',
    '',
  );
}

function textInPayload(): string {
  // Every quote inside the text costs a backslash, so the object is truncated to what fits after escaping.
  const inner = fill('{', (index) => `"k${index}":"v"`, '}');
  let members = inner.slice(0, Math.floor(size * 0.7));
  members = `${members.slice(0, members.lastIndexOf(','))}}`;
  return JSON.stringify({ payload: members });
}

/** As many items as are still parsed on the main thread, and one text for the rest, which email clients would show as links. */
function withPadding(items: string[]): string {
  return repeat(`{"payload":{"list":[${items.join(',')}],"padding":"`, 'http://a ', '"}}');
}

export function hostileBodies(): HostileBody[] {
  const bodies: [name: string, contentType: string, text: string][] = [
    ['one long text, for comparison', json, repeat('{"payload":{"text":"', 'x', '"}}')],
    ['arrays in arrays', json, nest('[', '', ']', ['{"payload":', '}'])],
    ['objects in objects', json, nest('{"a":', '0', '}', ['{"payload":', '}'])],
    ['arrays as deep as allowed', json, allowedNesting()],
    ['many empty objects', json, fill('{"payload":[', () => '{}', ']}')],
    ['many keys in payload', json, fill('{"payload":{', (index) => `"k${index}":0`, '}}')],
    ['many keys in payload and data', json, fill('{"payload":{', keyAndSwitch(), '}}')],
    ['many keys at the top level', json, fill('{', (index) => `"k${index}":0`, '}')],
    ['one key again and again', json, fill('{"payload":{', () => '"k":0', '}}')],
    ['integer keys, dense', json, fill('{"payload":{', (index) => `"${index}":0`, '}}')],
    [
      'integer keys, equal low bits',
      json,
      fill('{"payload":{', (index) => `"${(index % 250) * 65_536 + Math.floor(index / 250)}":0`, '}}'),
    ],
    ['integer keys, sparse', json, fill('{"payload":{', (index) => `"${4_294_967_294 - index * 4096}":0`, '}}')],
    [
      'integer texts, equal low bits',
      json,
      fill('{"payload":[', (index) => `"${(index % 250) * 65_536 + Math.floor(index / 250)}"`, ']}'),
    ],
    ['keys too long to be hashed', json, unhashedKeys()],
    ['keys that differ at the end', json, fill('{"payload":{', (index) => `"${'k'.repeat(100)}${index}":0`, '}}')],
    ['objects of different shapes', json, fill('{"payload":[', (index) => `{"k${index}":0}`, ']}')],
    ['forbidden keys everywhere', json, fill('{"payload":[', () => '{"__proto__":0,"a":0}', ']}')],
    ['one huge number', json, repeat('{"payload":[', '7', ']}')],
    ['numbers halfway between doubles', json, halfwayNumbers()],
    ['many long fractions', json, fill('{"payload":[', (index) => `0.${(index + 1) * 98_765_432_123}e-300`, ']}')],
    ['text of control characters', json, repeat('{"payload":{"text":"', '\\u0001', '"}}')],
    ['text of half surrogate pairs', json, repeat('{"payload":{"text":"', '\\ud800', '"}}')],
    ['text of escaped quotes', json, repeat('{"payload":{"text":"', '\\"', '"}}')],
    ['many small texts', json, fill('{"payload":[', (index) => `"s${index}"`, ']}')],
    [
      'objects of different shapes, on the main thread',
      json,
      withPadding(Array.from({ length: 2040 }, (_, index) => `{"k${index}":0}`)),
    ],
    ['keys, on the main thread', json, withPadding([`{${keys(4080)}}`])],
    ['deep arrays, on the main thread', json, withPadding(Array(131).fill('['.repeat(30) + ']'.repeat(30)))],
    ['blank title', json, repeat('{"body":"x","title":"', ' ', '"}')],
    ['white space around little', json, repeat('{"title":"x"', ' ', '}')],
    ['JSON text in payload', json, textInPayload()],
    [
      'unknown members of mqttConfig',
      json,
      fill('{"title":"x","mqttConnection":{"mode":"custom"},"mqttConfig":{', (index) => `"k${index}":0`, '}}'),
    ],
    ['host name of ideographs', json, differentIdeographs()],
    [
      'host name of many labels',
      json,
      repeat('{"title":"x","mqttConnection":{"mode":"custom"},"mqttConfig":{"url":"wss://', 'ü.', 'a/"}}'),
    ],
    ['form with 131,000 pairs', form, repeat('', 'a&', '')],
    ['form with 256 long pairs', form, fill('title=x&', (index) => `k${index}=${'%41'.repeat(340)}`, '', '&')],
    ['form of percent escapes', form, repeat('title=x&text=', '%C3%A9', '')],
    ['form of stray percent signs', form, repeat('title=x&text=', '%', '')],
    ['form with a broken escape at its end', form, repeat('title=x&text=', '%41', '%FF')],
    ['form of plus signs', form, repeat('body=x&title=', '+', '')],
    ['form that is almost JSON', form, fill('{', (index) => `"k${index}":0`, ',')],
    ['text that is almost JSON', plain, fill('{', (index) => `"k${index}":[{}]`, ',')],
    ['text of opening braces', plain, repeat('', '{', '')],
    ['text of opening members', plain, repeat('', '{"a":', '')],
  ];
  return bodies.map(([name, contentType, text]) => ({ name, contentType, text: withinLimit(name, text) }));
}

function keys(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',');
}

/** Half of the keys in `payload`, the rest in `data`, which are then merged. */
function keyAndSwitch(): (index: number) => string {
  const half = Math.floor(size / 2 / '"k12345":0,'.length);
  return (index) => (index === half ? '"k":0},"data":{"k":0' : `"k${index}":0`);
}

/** A body of another size proves nothing: it is refused unread, or it is not the worst that can be sent. */
function withinLimit(name: string, text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > size || bytes < size * 0.9) throw new Error(`The body '${name}' has ${bytes} bytes.`);
  return text;
}
