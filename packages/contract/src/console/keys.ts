// API keys.
import { keyLimits } from '../key-fields.ts';
import { keyTypes, notifyKeyTypes } from '../keys.ts';
import type { Operation } from './route.ts';
import {
  array,
  flag,
  integer,
  nullable,
  object,
  oneOf,
  optionalLine,
  type TypeOf,
  text,
  withDefault,
} from './schema.ts';

const keyEntry = object({
  id: text(),
  type: oneOf(keyTypes),
  label: nullable(text()),
  allowedDomains: array(text()),
  requireSignature: flag(),
  /** Such as `100/m`. */
  rateLimit: nullable(text()),
  createdAt: integer(),
  expiresAt: nullable(integer()),
  revokedAt: nullable(integer()),
});
export type KeyEntry = TypeOf<typeof keyEntry>;

const newKey = object({
  /** The types that send notifications; the others are created on the command line. */
  type: oneOf(notifyKeyTypes),
  label: optionalLine(keyLimits.labelCharacters),
  /** Empty or null: all domains. */
  allowedDomains: withDefault(nullable(array(text({ check: 'allowedDomain' }), { maxItems: keyLimits.domains })), []),
  requireSignature: flag(),
  rateLimit: optionalLine(keyLimits.rateLimitCharacters, { check: 'rateLimit' }),
  expiresAt: withDefault(nullable(integer({ check: 'expiry' })), null),
});
export type NewKey = TypeOf<typeof newKey>;

const createdKey = object({
  key: keyEntry,
  /** Shown only once. */
  value: text(),
});
export type CreatedKeyEntry = TypeOf<typeof createdKey>;

export const keyOperations = {
  listKeys: { response: object({ keys: array(keyEntry) }) },
  createKey: { body: newKey, status: 201, response: createdKey },
  revokeKey: { response: keyEntry },
} as const satisfies Record<string, Operation>;
