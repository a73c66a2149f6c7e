// The body of `POST /` → the normalized request.
import type { NormalizedRequest } from '@tocsin/contract';
import type { AddressPolicy } from '../core/address-policy.ts';
import { normalize } from '../core/normalize.ts';
import { type BodyFormat, parseBody } from '../core/parse-body.ts';
import { withNtfy } from '../senders/dialects/ntfy.ts';

/** Throws a Refusal. */
export function readRequest(format: BodyFormat, body: Buffer, policy: AddressPolicy): NormalizedRequest {
  const fields = parseBody(format, body);
  return withNtfy(normalize(fields, policy), fields);
}
