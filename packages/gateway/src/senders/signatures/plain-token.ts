// A secret that the sender repeats in a header, without a signature of the body.
import { createHash } from 'node:crypto';
import { equalBytes } from './equal-bytes.ts';

/** What is wrong with the token; null: it is the secret. */
export function plainTokenProblem(header: string, token: string | undefined, secret: string): string | null {
  if (token === undefined || token === '') return `the header ${header} is missing`;
  // Digests have one length, so the time says nothing about the length of the secret.
  return equalBytes(digestOf(token), digestOf(secret)) ? null : `the header ${header} is not the secret of the hook`;
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
