// Message encryption for Web Push: RFC 8291 over the aes128gcm coding of RFC 8188. Pure but for the keys it is given.
import { createCipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from 'node:crypto';

export interface SubscriptionKeys {
  /** The browser's public key: an uncompressed point on P-256. */
  p256dh: Buffer;
  auth: Buffer;
}

/** What is new for every message; RFC 8291 section 3.1 wants a key pair of its own for each. */
export interface MessageSecrets {
  keys: ECDH;
  salt: Buffer;
}

const recordSize = 4096;
/** RFC 8188 section 2: this octet ends the last record; there is only one. */
const lastRecordDelimiter = Buffer.of(2);

export function createMessageSecrets(): MessageSecrets {
  const keys = createECDH('prime256v1');
  keys.generateKeys();
  return { keys, salt: randomBytes(16) };
}

export function encryptWebPush(
  plaintext: Buffer,
  { p256dh, auth }: SubscriptionKeys,
  { keys, salt }: MessageSecrets = createMessageSecrets(),
): Buffer {
  const ownPublicKey = keys.getPublicKey();
  const keyInfo = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, ownPublicKey]);
  const inputKey = derive(keys.computeSecret(p256dh), auth, keyInfo, 32);
  const contentKey = derive(inputKey, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const nonce = derive(inputKey, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
  const cipher = createCipheriv('aes-128-gcm', contentKey, nonce);
  return Buffer.concat([
    header(salt, ownPublicKey),
    cipher.update(plaintext),
    cipher.update(lastRecordDelimiter),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

/** RFC 8188 section 2.1: salt, record size, length of the key id, key id; the key id is our public key. */
function header(salt: Buffer, publicKey: Buffer): Buffer {
  const sizes = Buffer.alloc(5);
  sizes.writeUInt32BE(recordSize, 0);
  sizes.writeUInt8(publicKey.length, 4);
  return Buffer.concat([salt, sizes, publicKey]);
}

function derive(inputKey: Buffer, salt: Buffer, info: Buffer, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', inputKey, salt, info, length));
}
