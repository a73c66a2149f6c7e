import { timingSafeEqual } from 'node:crypto';

/** Compares in constant time. Only the length of a signature may be learned, and that is public. */
export function equalBytes(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
