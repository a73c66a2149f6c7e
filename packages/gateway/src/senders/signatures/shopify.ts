// X-Shopify-Hmac-SHA256: the HMAC-SHA256 of the body in base64. It has no time.
import { createHmac } from 'node:crypto';
import type { SignedRequest } from '../event.ts';
import { equalBytes } from './equal-bytes.ts';

export function shopifyProblem({ request: { headers }, rawBody, secret }: SignedRequest): string | null {
  const signature = headers['x-shopify-hmac-sha256'] ?? '';
  if (signature === '') return 'the header X-Shopify-Hmac-SHA256 is missing';
  const expected = createHmac('sha256', secret).update(rawBody).digest('base64');
  return equalBytes(Buffer.from(signature), Buffer.from(expected)) ? null : 'the signature is wrong';
}
