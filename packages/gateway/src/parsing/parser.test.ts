import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { EncodedData, type JsonObject, type NormalizedRequest, stringify } from '@tocsin/contract';
import { hostileContents } from '@tocsin/test-support/hostile-contents.ts';
import { hostileBodies } from '../../../../bench/hostile-bodies.ts';
import { format as formatEmail } from '../channels/email/format.ts';
import { messageOf } from '../channels/mqtt/format.ts';
import { apnsPayload, fcmMessage, webPushPayload } from '../channels/push/format.ts';
import { isCostlyToParse } from '../core/costly-text.ts';
import { normalize } from '../core/normalize.ts';
import { type BodyFormat, bodyFormat, parseBody } from '../core/parse-body.ts';
import { Refusal } from '../core/refusal.ts';
import { report } from '../core/response.ts';
import { Parser } from './parser.ts';

const policy = { allowed: [] };
const parser = new Parser(policy);
after(() => parser.close());

interface Body {
  name: string;
  format: BodyFormat;
  bytes: Buffer;
}

const bodies: Body[] = [
  ...hostileBodies().map(({ name, contentType, text }) => ({
    ...{ name, format: bodyFormat({ 'content-type': contentType }), bytes: Buffer.from(text) },
  })),
  ...hostileContents().map(({ name, content }) => ({
    ...{ name, format: 'json' as const, bytes: Buffer.from(JSON.stringify(content)) },
  })),
];

/** Everything that callers, channels and the store get to see of a request. */
function resultsOf(request: NormalizedRequest) {
  const { content } = request;
  const notification = { id: '01990000-0000-7000-8000-000000000000', ownerId: 'own_1', createdAt: 0, content };
  return {
    request: stringify({ ...request, content: null }),
    stored: stringify(content),
    response: report(request, [], null, {}, false),
    mqtt: messageOf(notification).toString(),
    email: formatEmail(notification, 'example.com'),
    push: [
      webPushPayload(notification).toString(),
      fcmMessage(notification, 0, 0),
      apnsPayload(notification).toString(),
    ],
  };
}

/** The results, or the refusal. */
async function outcomeOf(parse: () => NormalizedRequest | Promise<NormalizedRequest>) {
  try {
    return resultsOf(await parse());
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { code: error.code, details: error.details };
  }
}

suite('The parser', () => {
  for (const { name, format, bytes } of bodies.filter((body) => isCostlyToParse(body.bytes))) {
    test(`has the same result for every channel if it parses in the thread: ${name}`, async (t) => {
      const expected = await outcomeOf(() => normalize(parseBody(format, bytes), policy));
      const parse = t.mock.method(JSON, 'parse');
      assert.deepEqual(await outcomeOf(() => parser.request(format, bytes)), expected);
      const parsed = parse.mock.calls.reduce((sum, call) => sum + String(call.arguments[0]).length, 0);
      assert.ok(parsed <= 16_384, `${parsed} characters were parsed on the main thread`);
    });
  }

  test('parses in the thread what has more than 4,096 values, and anything else at once', async () => {
    const withItems = (count: number): Buffer => Buffer.from(JSON.stringify({ data: { list: Array(count).fill(1) } }));
    assert.ok(!(parser.request('json', withItems(4090)) instanceof Promise));
    const encoded = parser.request('json', withItems(10_000));
    assert.ok(encoded instanceof Promise);
    assert.ok((await encoded).content.data instanceof EncodedData);
    const long = Buffer.from(JSON.stringify({ body: 'x'.repeat(200_000), data: { a: 1 } }));
    assert.ok(!(parser.request('json', long) instanceof Promise));
  });

  test('keeps small data as an object without a prototype', async () => {
    const body = Buffer.from(JSON.stringify({ title: ','.repeat(10_000), a: { constructor: 1, b: [2] } }));
    const { data } = (await parser.request('json', body)).content;
    assert.equal(Object.getPrototypeOf(data), null);
    assert.deepEqual({ ...(data as JsonObject) }, { a: { b: [2] } });
  });

  test('reads stored content in the same way', async () => {
    for (const { content } of hostileContents()) {
      const plaintext = Buffer.from(JSON.stringify({ title: 'x', ...content, data: content.data ?? {} }));
      assert.equal(stringify(await parser.content(plaintext)), plaintext.toString());
    }
  });

  test('parses on the main thread after the thread has ended', async () => {
    const { format, bytes } = bodies.find(({ name }) => name === 'many keys in payload') as Body;
    const other = new Parser(policy);
    const parsing = [parser, other, other].map((each) => outcomeOf(() => each.request(format, bytes)));
    await other.close();
    const [expected, ...actual] = await Promise.all(parsing);
    for (const each of [...actual, await outcomeOf(() => other.request(format, bytes))]) {
      assert.deepEqual(each, expected);
    }
  });

  test('ends the thread after a minute without work, and starts it again', async (t) => {
    const { format, bytes } = bodies.find(({ name }) => name === 'many keys in payload') as Body;
    const threads: Worker[] = [];
    const note = (message: unknown): void => void threads.push((message as { worker: Worker }).worker);
    subscribe('worker_threads', note);
    t.after(() => unsubscribe('worker_threads', note));
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const other = new Parser(policy);
    t.after(() => other.close());
    await other.request(format, bytes);
    t.mock.timers.tick(50_000);
    const first = await outcomeOf(() => other.request(format, bytes));
    t.mock.timers.tick(50_000);
    assert.equal(threads.length, 1);
    t.mock.timers.tick(10_000);
    await once(threads[0] as Worker, 'exit');
    assert.deepEqual(await outcomeOf(() => other.request(format, bytes)), first);
    assert.equal(threads.length, 2);
  });
});
