// Standard Webhooks 1.0: `v1` is an HMAC-SHA256, `v1a` an Ed25519 signature, both of `id.timestamp.body`. The senders of
// Svix have headers with their older names.
import { createHmac, createPublicKey, verify } from 'node:crypto';
import type { SignedRequest } from '../event.ts';
import { equalBytes } from './equal-bytes.ts';
import { timestampProblem } from './timestamp.ts';

const ed25519KeyBytes = 32;
/** A sender signs with its old and its new key while it rotates them; more would only cost time. */
const maxSignatures = 10;

export function standardWebhooksProblem({ request: { headers }, rawBody, secret, now }: SignedRequest): string | null {
  const prefix = headers['webhook-signature'] === undefined ? 'svix' : 'webhook';
  const id = headers[`${prefix}-id`] ?? '';
  const timestamp = headers[`${prefix}-timestamp`] ?? '';
  const signatures = headers[`${prefix}-signature`]?.trim() ?? '';
  if (signatures === '' || id === '') return 'the header webhook-id or webhook-signature is missing';
  const late = timestampProblem(timestamp, now);
  if (late !== null) return late;
  const check = checkFor(secret, Buffer.concat([Buffer.from(`${id}.${timestamp}.`), rawBody]));
  if (check === null) return 'the secret of the hook is not base64 after whsec_ or whpk_';
  const isValid = signatures
    .split(/\s+/, maxSignatures)
    .map((entry) => entry.split(',', 2))
    .some(([version, signature]) => version === check.version && check.isValid(Buffer.from(signature ?? '', 'base64')));
  return isValid ? null : `no ${check.version} signature is valid`;
}

interface Check {
  version: string;
  isValid(signature: Buffer): boolean;
}

/** The key decides the version, never the request. */
function checkFor(secret: string, content: Buffer): Check | null {
  const [, prefix, text] = /^(?:v1a?,)?(whsec_|whpk_)?([A-Za-z0-9+/_-]+=*)$/.exec(secret.trim()) ?? [];
  const key = Buffer.from(text ?? '', 'base64');
  if (key.length === 0) return null;
  if (prefix !== 'whpk_') {
    const expected = createHmac('sha256', key).update(content).digest();
    return { version: 'v1', isValid: (signature) => equalBytes(signature, expected) };
  }
  if (key.length !== ed25519KeyBytes) return null;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.toString('base64url') };
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
  return { version: 'v1a', isValid: (signature) => verify(null, content, publicKey, signature) };
}
