// How often keys are used.

/** Where a key stands: requests in its window so far, and how long that lasts. */
export interface Standing {
  used: number;
  msLeft: number;
}

export interface RequestCount {
  ownerId: string;
  keyId: string;
  windowMs: number;
  count: number;
}

/** What an owner has stored in the day that is under way, under the names by which it is counted beside the keys. */
export const quotaIds = { rows: 'quota_rows', bytes: 'quota_bytes' } as const;

export interface QuotaUse {
  rows: number;
  bytes: number;
}

/** Counts the requests of keys, for every process on the same database. */
export interface LimitStore {
  /** Adds to each, in a window that begins with its first request, and says where each stands then. None is there twice. */
  countRequests(requests: readonly RequestCount[]): Promise<Standing[]>;
  /** What counts towards the daily quota of this owner, as far as servers have added it up. */
  readQuotaUse(ownerId: string): Promise<QuotaUse>;
}
