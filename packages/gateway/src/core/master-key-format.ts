import { createSecretKey, type KeyObject } from 'node:crypto';

export const masterKeyLength = 32;

/** Master keys that the operator configured, newest first. */
export interface GivenMasterKeys {
  keys: readonly KeyObject[];
  /** The file that they were read from, for reading it again; null: an environment variable. */
  file: string | null;
}

/** Parses one or more keys, newest first, separated by commas or line breaks; undefined if one of them is invalid. */
export function parseMasterKeys(text: string): KeyObject[] | undefined {
  const keys = text
    .split(/[,\s]+/)
    .filter((part) => part !== '')
    .map(parseMasterKey);
  return keys.length === 0 || keys.includes(undefined) ? undefined : (keys as KeyObject[]);
}

export function formatMasterKeys(keys: readonly KeyObject[]): string {
  return keys.map((key) => `${key.export().toString('base64url')}\n`).join('');
}

/** 32 bytes as base64, base64url or hex; undefined when the text is none of these. */
function parseMasterKey(text: string): KeyObject | undefined {
  const encoding = /^[0-9A-Fa-f]{64}$/.test(text) ? 'hex' : 'base64';
  if (encoding === 'base64' && !/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined;
  const bytes = Buffer.from(text, encoding);
  return bytes.length === masterKeyLength ? createSecretKey(bytes) : undefined;
}
