// Stripe-Signature: `t=<seconds>,v1=<hex>`, with one v1 for each secret while a secret is rolled. The HMAC-SHA256 is that
// of `t.body`, and its key is the secret as it is shown, with `whsec_`.
import { createHmac } from 'node:crypto';
import type { SignedRequest } from '../event.ts';
import { equalBytes } from './equal-bytes.ts';
import { timestampProblem } from './timestamp.ts';

export function stripeProblem({ request: { headers }, rawBody, secret, now }: SignedRequest): string | null {
  const header = headers['stripe-signature'] ?? '';
  if (header === '') return 'the header Stripe-Signature is missing';
  const entries = header.split(',').map((entry) => entry.trim());
  const timestamp = entries.find((entry) => entry.startsWith('t='))?.slice('t='.length) ?? '';
  const late = timestampProblem(timestamp, now);
  if (late !== null) return late;
  const digest = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest('hex');
  const expected = Buffer.from(`v1=${digest}`);
  return entries.some((entry) => equalBytes(Buffer.from(entry), expected)) ? null : 'no v1 signature is valid';
}
