// API keys: svc_ + 32 random base62 characters + 6 base62 characters of CRC-32 over all that precedes.
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { keyPrefix } from '@tocsin/contract';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const generatedShape = new RegExp(`^${keyPrefix}[0-9A-Za-z]{38}$`);
const checksumLength = 6;

/** An imported key may have another form, but it must fit into a header and not be easy to guess. */
const importableShape = new RegExp(`^${keyPrefix}[\\x21-\\x2b\\x2d-\\x7e]{16,200}$`);

export function createKey(randomIndex: (below: number) => number): string {
  return withChecksum(keyPrefix + randomBase62(32, randomIndex));
}

export function randomBase62(length: number, randomIndex: (below: number) => number): string {
  return Array.from({ length }, () => alphabet[randomIndex(alphabet.length)]).join('');
}

/** True for a generated key with a typo: the store need not be queried. */
export function hasWrongChecksum(key: string): boolean {
  return generatedShape.test(key) && withChecksum(key.slice(0, -checksumLength)) !== key;
}

export function isImportable(key: string): boolean {
  return importableShape.test(key);
}

/** The digest that is stored and looked up instead of the key. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

export function withChecksum(body: string): string {
  let rest = crc32(body);
  let checksum = '';
  for (let i = 0; i < checksumLength; i += 1) {
    checksum = alphabet[rest % alphabet.length] + checksum;
    rest = Math.floor(rest / alphabet.length);
  }
  return body + checksum;
}
