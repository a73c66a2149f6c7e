// The HMAC-SHA256 of the raw body in hexadecimal digits, as GitHub, Gitea, Bitbucket, Linear and others send it.
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface HexHmac {
  /** The name of the header, for the problem. */
  header: string;
  /** The digits without a prefix. */
  signature: string | undefined;
  signed: Buffer | string;
  secret: string;
}

/** What is wrong with the signature; null: it is valid. */
export function hexHmacProblem({ header, signature, signed, secret }: HexHmac): string | null {
  if (signature === undefined || signature === '') return `the header ${header} is missing`;
  if (!/^[0-9a-f]{64}$/i.test(signature)) return `the header ${header} is not an HMAC-SHA256 in hexadecimal digits`;
  const expected = createHmac('sha256', secret).update(signed).digest();
  return timingSafeEqual(Buffer.from(signature, 'hex'), expected) ? null : 'the signature does not match the body';
}

/** The same with `sha256=` before the digits: GitHub and Bitbucket. */
export function prefixedHmacProblem(signed: HexHmac): string | null {
  const { signature, header } = signed;
  if (signature === undefined || signature === '') return hexHmacProblem(signed);
  if (!signature.startsWith('sha256=')) return `the header ${header} does not begin with sha256=`;
  return hexHmacProblem({ ...signed, signature: signature.slice('sha256='.length) });
}
