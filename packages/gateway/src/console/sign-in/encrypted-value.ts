// State that a browser keeps in a cookie between two requests, encrypted and authenticated. Every node can decrypt it.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ivBytes = 12;
const tagBytes = 16;

/** `purpose` is authenticated with the value, so that a value for one use is not accepted for another. */
export function encryptForBrowser(key: Buffer, purpose: string, value: object, expiresAt: number): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose));
  const encrypted = [cipher.update(JSON.stringify({ value, expiresAt }), 'utf8'), cipher.final()];
  return Buffer.concat([iv, ...encrypted, cipher.getAuthTag()]).toString('base64url');
}

/** Returns null for a value that was not made here for this purpose, or has expired. */
export function decryptFromBrowser<T extends object>(
  key: Buffer,
  purpose: string,
  text: string | undefined,
  now: number,
): T | null {
  const bytes = Buffer.from(text ?? '', 'base64url');
  if (bytes.length <= ivBytes + tagBytes) return null;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
      .setAAD(Buffer.from(purpose))
      .setAuthTag(bytes.subarray(-tagBytes));
    const decrypted = decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
    const { value, expiresAt } = JSON.parse(decrypted) as { value: T; expiresAt: number };
    return expiresAt > now ? value : null;
  } catch {
    return null;
  }
}
