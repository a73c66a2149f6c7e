// AES-256-GCM with a random nonce. Table, owner, row, column and key version are additional authenticated data (AAD), so a
// value can be decrypted only in the row and column it was encrypted for.
//
//   byte 0      format (1)
//   byte 1..2   version of the key, a data key or the master key, big endian
//   byte 3..14  nonce
//   then        ciphertext, and a 16 byte authentication tag
import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto';
import { DecryptionFailed } from '../../usecases/ports/index.ts';
import type { EncryptionKey } from '../schema/database.ts';

const format = 1;
const headerLength = 3;
const nonceLength = 12;
const tagLength = 16;
export const cipherOverhead = headerLength + nonceLength + tagLength;

/** Where an encrypted value is stored. No part may contain a line break; ids never do. */
export interface CipherContext {
  table: string;
  ownerId: string;
  rowId: string;
  column: string;
}

export function encrypt(
  { key, version }: EncryptionKey,
  context: CipherContext,
  plaintext: string | Uint8Array,
): Buffer {
  const nonce = nextNonce();
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(additionalData(context, version));
  const body = typeof plaintext === 'string' ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext);
  cipher.final();
  const sealed = Buffer.allocUnsafe(cipherOverhead + body.length);
  sealed[0] = format;
  sealed.writeUInt16BE(version, 1);
  sealed.set(nonce, headerLength);
  sealed.set(body, headerLength + nonceLength);
  sealed.set(cipher.getAuthTag(), sealed.length - tagLength);
  return sealed;
}

export function decrypt({ key, version }: EncryptionKey, context: CipherContext, sealed: Uint8Array): Buffer {
  if (keyVersionOf(sealed) !== version) throw decryptionFailed(context);
  const nonceEnd = headerLength + nonceLength;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(headerLength, nonceEnd), {
      authTagLength: tagLength,
    });
    decipher.setAAD(additionalData(context, version));
    decipher.setAuthTag(sealed.subarray(sealed.length - tagLength));
    const body = decipher.update(sealed.subarray(nonceEnd, sealed.length - tagLength));
    decipher.final();
    return body;
  } catch {
    throw decryptionFailed(context);
  }
}

/** The version of the key that a value was encrypted with; undefined if it is not an encrypted value. */
export function keyVersionOf(sealed: Uint8Array): number | undefined {
  if (sealed.length < cipherOverhead || sealed[0] !== format) return undefined;
  return ((sealed[1] as number) << 8) | (sealed[2] as number);
}

function additionalData(context: CipherContext, version: number): Buffer {
  return Buffer.from(`${context.table}\n${context.ownerId}\n${context.rowId}\n${context.column}\n${version}`);
}

function decryptionFailed(context: CipherContext): DecryptionFailed {
  return new DecryptionFailed(
    `${context.table}.${context.column} of row ${context.rowId} cannot be decrypted: it was altered, moved, or encrypted with another key`,
  );
}

// Random bytes are drawn in bulk: one call costs as much as encrypting a short text.
const noncePool = Buffer.alloc(nonceLength * 256);
let nonceOffset = noncePool.length;

function nextNonce(): Buffer {
  if (nonceOffset === noncePool.length) {
    randomFillSync(noncePool);
    nonceOffset = 0;
  }
  nonceOffset += nonceLength;
  // A copy, since the pool is refilled in place.
  return Buffer.from(noncePool.subarray(nonceOffset - nonceLength, nonceOffset));
}
