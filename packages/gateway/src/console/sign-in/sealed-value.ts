// What the console gives a browser to keep between two requests, and nobody else can read or make. Any node opens it.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ivBytes = 12;
const tagBytes = 16;

/** `purpose` keeps what was made for one use from being taken for another. */
export function sealForBrowser(key: Buffer, purpose: string, value: object, expiresAt: number): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose));
  const sealed = [cipher.update(JSON.stringify({ value, expiresAt }), 'utf8'), cipher.final()];
  return Buffer.concat([iv, ...sealed, cipher.getAuthTag()]).toString('base64url');
}

/** null where it was not made here for this purpose, or is too old. */
export function openFromBrowser<T extends object>(
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
    const opened = decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
    const { value, expiresAt } = JSON.parse(opened) as { value: T; expiresAt: number };
    return expiresAt > now ? value : null;
  } catch {
    return null;
  }
}
