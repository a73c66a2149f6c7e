// Tokens of hooks: hook_ + 32 random base62 characters + 6 base62 characters of CRC-32 over all that precedes.
import { hookPrefix } from '@tocsin/contract';
import { randomBase62, withChecksum } from './key-format.ts';

const randomCharacters = 32;
const shape = new RegExp(`^${hookPrefix}[0-9A-Za-z]{38}$`);

export function createHookToken(randomIndex: (below: number) => number): string {
  return withChecksum(hookPrefix + randomBase62(randomCharacters, randomIndex));
}

/** False for text that cannot be a token: the store need not be queried. */
export function isHookToken(text: string): boolean {
  return shape.test(text) && withChecksum(text.slice(0, hookPrefix.length + randomCharacters)) === text;
}
