// Rate limits: per key where one is set, and failed authentications per client address.

import { formatRate, type Rate } from '@tocsin/contract';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { BoundedMap } from '../core/bounded-map.ts';
import { Refusal } from '../core/refusal.ts';
import type { LimitedCredential, LimitRepository, RateLimitState } from '../usecases/ports/index.ts';
import { SharedCounts } from './shared-counts.ts';

const failuresPerMinute = 1000;
const maxAccepted = 10_000;

export interface Limits {
  /** Counts one request of the key and returns the RateLimit headers. Refuses when the limit is exceeded. */
  countRequest(key: LimitedCredential): Record<string, string> | Promise<Record<string, string>>;
  /** Counts a failed authentication; refuses when there were too many. */
  countFailure(address: string): Promise<void>;
  /** Recently accepted keys are exempt from the limit on failures. */
  noteAccepted(digest: string): void;
  wasAcceptedLately(digest: string): boolean;
  /** Refuses an address with too many failures, without counting. */
  checkFailures(address: string): Promise<void>;
}

export interface SharedLimits {
  /** Counts for all processes; failed authentications are still counted per process. */
  counts: Pick<LimitRepository, 'count'>;
  onChange(isShared: boolean, cause?: string): void;
}

/** Without `shared` the limits are counted per process. */
export function createLimits(defaultRate: Rate | null, shared: SharedLimits | null = null): Limits {
  const byRate = new Map<string, RateLimiterMemory>();
  const accepted = new BoundedMap<string, true>(maxAccepted);
  const failures = new RateLimiterMemory({ keyPrefix: 'failures', points: failuresPerMinute, duration: 60 });

  function limiterOf(rate: Rate): RateLimiterMemory {
    const name = formatRate(rate);
    let limiter = byRate.get(name);
    if (limiter === undefined) {
      limiter = new RateLimiterMemory({ keyPrefix: name, points: rate.requests, duration: rate.seconds });
      byRate.set(name, limiter);
    }
    return limiter;
  }

  const countHere = (key: LimitedCredential, rate: Rate): Promise<RateLimitState> => consume(limiterOf(rate), key.id);
  const counts = shared && new SharedCounts({ ...shared, fallback: countHere });

  async function count(key: LimitedCredential, rate: Rate): Promise<Record<string, string>> {
    const state = await (counts === null ? countHere(key, rate) : counts.count(key, rate));
    const { used, msLeft } = state;
    // draft-ietf-httpapi-ratelimit-headers: q = quota, w = window, r = remaining, t = seconds to the reset
    const headers = {
      'RateLimit-Policy': `"key";q=${rate.requests};w=${rate.seconds}`,
      RateLimit: `"key";r=${Math.max(0, rate.requests - used)};t=${secondsOf(msLeft)}`,
    };
    if (used > rate.requests) throw tooMany(state, headers);
    return headers;
  }

  return {
    countRequest(key) {
      const rate = key.rateLimit ?? defaultRate;
      return rate === null ? {} : count(key, rate);
    },

    async countFailure(address) {
      const state = await consume(failures, address);
      if (state.used > failuresPerMinute) throw tooMany(state, failureHeaders(state));
    },

    noteAccepted(digest) {
      accepted.renew(digest, true);
    },

    wasAcceptedLately: (digest) => accepted.has(digest),

    async checkFailures(address) {
      const counted = await failures.get(address);
      if (counted === null || counted.consumedPoints <= failuresPerMinute) return;
      const state = stateOf(counted);
      throw tooMany(state, failureHeaders(state));
    },
  };
}

function failureHeaders({ msLeft }: RateLimitState): Record<string, string> {
  return {
    'RateLimit-Policy': `"failures";q=${failuresPerMinute};w=60`,
    RateLimit: `"failures";r=0;t=${secondsOf(msLeft)}`,
  };
}

/** The library rejects with the state if the limit is exceeded; here that is a normal result. */
async function consume(limiter: RateLimiterMemory, id: string): Promise<RateLimitState> {
  try {
    return stateOf(await limiter.consume(id));
  } catch (error) {
    if (error instanceof Error) throw error;
    return stateOf(error as RateLimiterRes);
  }
}

function stateOf({ consumedPoints, msBeforeNext }: RateLimiterRes): RateLimitState {
  return { used: consumedPoints, msLeft: msBeforeNext };
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

function tooMany({ msLeft }: RateLimitState, headers: Record<string, string>): Refusal {
  return new Refusal('rate_limited', { headers: { ...headers, 'Retry-After': String(secondsOf(msLeft)) } });
}
