import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { formatMasterKeys, parseMasterKeys } from './master-key-format.ts';

const [first, second] = [randomBytes(32), randomBytes(32)];
const bytesOf = (text: string) => parseMasterKeys(text)?.map((key) => key.export());

suite('Master keys as text', () => {
  test('may be base64, base64url or hex', () => {
    for (const encoding of ['base64', 'base64url', 'hex'] as const) {
      assert.deepEqual(bytesOf(` ${first.toString(encoding)}\n`), [first]);
    }
  });

  test('may be several, in their order, between commas, line breaks or both', () => {
    const [one, other] = [first.toString('base64'), second.toString('hex')];
    for (const text of [`${one},${other}`, `${one}\n${other}\n`, `${one}, ${other}`, `\r\n${one}\r\n,${other},`]) {
      assert.deepEqual(bytesOf(text), [first, second], text);
    }
  });

  test('are refused as a whole when one of them is no key, and when there is none', () => {
    for (const text of ['', ' , ', 'key', first.toString('hex').slice(2), `${first.toString('hex')},x`]) {
      assert.equal(parseMasterKeys(text), undefined, text);
    }
  });

  test('are read back as they were written', () => {
    const text = `${first.toString('hex')},${second.toString('hex')}`;
    assert.deepEqual(bytesOf(formatMasterKeys(parseMasterKeys(text) ?? [])), [first, second]);
  });
});
