// Voluntary Application Server Identification, RFC 8292: who we are, for push services.

import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { BoundedMap } from '../../core/bounded-map.ts';
import { hourMs } from '../../core/duration.ts';
import { Problem } from '../../core/problem.ts';
import { signJwt } from './jwt.ts';

export interface VapidKeys {
  privateKey: KeyObject;
  /** An uncompressed point in base64url: the applicationServerKey with which a page subscribes. */
  publicKey: string;
}

/** RFC 8292 section 2 allows at most 24 hours. */
const lifetimeMs = 12 * hourMs;
const renewBeforeMs = hourMs;
/** A name such as *.notify.windows.com has many hosts under it. */
const maxAudiences = 1000;

/** A new key pair in the form in which it is stored: a private JWK. */
export function createVapidKeys(): string {
  return JSON.stringify(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }));
}

export function parseVapidKeys(text: string): VapidKeys {
  try {
    const jwk = JSON.parse(text) as { kty: string; x: string; y: string };
    const privateKey = createPrivateKey({ key: jwk, format: 'jwk' });
    if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('not on P-256');
    const point = [Buffer.of(4), ...[jwk.x, jwk.y].map((part) => Buffer.from(part, 'base64url'))];
    return { privateKey, publicKey: Buffer.concat(point).toString('base64url') };
  } catch {
    throw new Problem('The stored key for Web Push (VAPID) cannot be read. Restore the database from a backup.');
  }
}

/** Gives the Authorization header for a push service; its token is used again until shortly before it expires. */
export function createVapidAuthorization(
  { privateKey, publicKey }: VapidKeys,
  subject: string,
  now: () => number,
): (audience: string) => string {
  const cache = new BoundedMap<string, { value: string; expiresAt: number }>(maxAudiences);
  return (audience) => {
    const cached = cache.get(audience);
    if (cached !== undefined && cached.expiresAt - renewBeforeMs > now()) return cached.value;
    const expiresAt = now() + lifetimeMs;
    const claims = { aud: audience, exp: Math.floor(expiresAt / 1000), sub: subject };
    const value = `vapid t=${signJwt('ES256', privateKey, claims)}, k=${publicKey}`;

    cache.set(audience, { value, expiresAt });
    return value;
  };
}
