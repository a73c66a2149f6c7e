import { createSecretKey, type KeyObject } from 'node:crypto';

export const masterKeyLength = 32;

/** 32 bytes as base64, base64url or hex; undefined when the text is none of these. */
export function parseMasterKey(text: string): KeyObject | undefined {
  const trimmed = text.trim();
  const encoding = /^[0-9A-Fa-f]{64}$/.test(trimmed) ? 'hex' : 'base64';
  if (encoding === 'base64' && !/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return undefined;
  const bytes = Buffer.from(trimmed, encoding);
  return bytes.length === masterKeyLength ? createSecretKey(bytes) : undefined;
}
