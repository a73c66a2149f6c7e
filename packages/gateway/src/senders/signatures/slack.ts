// Requests signed by Slack: hex HMAC-SHA256 of `v0:timestamp:body`.
import { createHmac } from 'node:crypto';
import type { SignedRequest } from '../event.ts';
import { equalBytes } from './equal-bytes.ts';
import { timestampProblem } from './timestamp.ts';

const version = 'v0';

export function slackProblem({ request: { headers }, rawBody, secret, now }: SignedRequest): string | null {
  const signature = headers['x-slack-signature'] ?? '';
  if (signature === '') return 'the header X-Slack-Signature is missing';
  const timestamp = headers['x-slack-request-timestamp'] ?? '';
  const late = timestampProblem(timestamp, now);
  if (late !== null) return late;
  const digest = createHmac('sha256', secret).update(`${version}:${timestamp}:`).update(rawBody).digest('hex');
  return equalBytes(Buffer.from(signature), Buffer.from(`${version}=${digest}`)) ? null : 'the signature is wrong';
}
