import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { Problem } from '../../core/problem.ts';

/** A JWS in compact form, RFC 7515 section 3.1, with the signatures of RFC 7518 sections 3.3 (RS256) and 3.4 (ES256). */
export function signJwt(
  algorithm: 'ES256' | 'RS256',
  key: KeyObject,
  claims: Record<string, string | number>,
  header: Record<string, string> = {},
): string {
  const head = encode({ alg: algorithm, typ: 'JWT', ...header });
  const signed = `${head}.${encode(claims)}`;
  // Node encodes ECDSA signatures as DER by default; JWS requires the concatenation of the two numbers.
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

/** Reads a private key from the setting `variable`; one that cannot sign what it must is a problem for people. */
export function readPrivateKey(pem: string, kind: 'rsa' | 'ec', variable: string): KeyObject {
  const key = parse(pem);
  const isFit =
    key?.asymmetricKeyType === kind && (kind === 'rsa' || key.asymmetricKeyDetails?.namedCurve === 'prime256v1');
  if (key === null || !isFit) {
    const wanted = kind === 'rsa' ? 'an RSA key' : 'a key on the curve P-256';
    throw new Problem(
      `${variable}: its private key must be ${wanted} in PEM form. Get the file from the provider again.`,
    );
  }
  return key;
}

function parse(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
