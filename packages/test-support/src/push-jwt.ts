import { type KeyObject, verify } from 'node:crypto';

export interface Jwt {
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
}

/** Reads a token and checks its signature with the one algorithm that is allowed; undefined for anything else. */
export function readJwt(token: string, algorithm: 'ES256' | 'RS256', key: KeyObject): Jwt | undefined {
  const [head = '', body = '', signature = '', ...more] = token.split('.');
  if (more.length > 0 || ![head, body, signature].every((part) => /^[A-Za-z0-9_-]+$/.test(part))) return undefined;
  const header = decode(head);
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${body}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  return header.alg === algorithm && isSigned ? { header, claims: decode(body) } : undefined;
}

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Record<string, unknown>;
}
