// Rate limits of keys and daily quotas of owners.
import type { Rate } from '@tocsin/contract';

/** Requests of a key in its current window, and the time until the window ends. */
export interface RateLimitState {
  used: number;
  msLeft: number;
}

export interface RequestCount {
  ownerId: string;
  keyId: string;
  windowMs: number;
  count: number;
}

/** Names under which the daily quota of an owner is counted, in place of key ids. */
export const quotaIds = { rows: 'quota_rows', bytes: 'quota_bytes' } as const;

export interface QuotaUse {
  rows: number;
  bytes: number;
}

/** An API key or a hook. */
export interface LimitedCredential {
  id: string;
  ownerId: string;
  /** null: the limit of the service. */
  rateLimit: Rate | null;
}

/** Counts the requests of keys, for every process on the same database. */
export interface LimitRepository {
  /**
   * Adds each count to its window, which starts with the first request in it, and returns the state of each window. No
   * key may occur twice.
   */
  count(requests: readonly RequestCount[]): Promise<RateLimitState[]>;
  /** The owner's use of the daily quota, as far as servers have reported it. */
  readQuotaUse(ownerId: string): Promise<QuotaUse>;
}
