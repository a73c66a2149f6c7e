// Rate limits: per key where one is set, and failed authentications per client address.
import { formatRate, type Rate } from '@tocsin/contract';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { Refusal } from '../core/refusal.ts';
import type { ApiKey, LimitRepository, RateLimitState } from '../usecases/ports/index.ts';
import { SharedCounts } from './shared-counts.ts';

const failuresPerMinute = 1000;
const maxAccepted = 10_000;

export interface Limits {
  /** Counts one request of the key; the headers tell the caller where it stands. Refuses when the limit is reached. */
  countRequest(key: ApiKey): Record<string, string> | Promise<Record<string, string>>;
  /** Counts a failed authentication; refuses when there were too many. */
  countFailure(address: string): Promise<void>;
  /** Keys that were accepted lately are let past the limit on failures. */
  noteAccepted(digest: string): void;
  wasAcceptedLately(digest: string): boolean;
  /** Refuses an address that failed too often, without counting. */
  checkFailures(address: string): Promise<void>;
}

export interface SharedLimits {
  /** Counts for all processes; failed authentications are still counted by each for itself. */
  counts: Pick<LimitRepository, 'count'>;
  onChange(isShared: boolean, cause?: string): void;
}

/** Without `shared` this process counts for itself. */
export function createLimits(defaultRate: Rate | null, shared: SharedLimits | null = null): Limits {
  const byRate = new Map<string, RateLimiterMemory>();
  const accepted = new Set<string>();
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

  const countHere = (key: ApiKey, rate: Rate): Promise<RateLimitState> => consume(limiterOf(rate), key.id);
  const counts = shared && new SharedCounts({ ...shared, fallback: countHere });

  async function count(key: ApiKey, rate: Rate): Promise<Record<string, string>> {
    const standing = await (counts === null ? countHere(key, rate) : counts.count(key, rate));
    const { used, msLeft } = standing;
    // draft-ietf-httpapi-ratelimit-headers: q = quota, w = window, r = remaining, t = seconds to the reset
    const headers = {
      'RateLimit-Policy': `"key";q=${rate.requests};w=${rate.seconds}`,
      RateLimit: `"key";r=${Math.max(0, rate.requests - used)};t=${secondsOf(msLeft)}`,
    };
    if (used > rate.requests) throw tooMany(standing, headers);
    return headers;
  }

  return {
    countRequest(key) {
      const rate = key.rateLimit ?? defaultRate;
      return rate === null ? {} : count(key, rate);
    },

    async countFailure(address) {
      const standing = await consume(failures, address);
      if (standing.used > failuresPerMinute) throw tooMany(standing, failureHeaders(standing));
    },

    noteAccepted(digest) {
      accepted.delete(digest);
      accepted.add(digest);
      if (accepted.size > maxAccepted) accepted.delete(accepted.keys().next().value as string);
    },

    wasAcceptedLately: (digest) => accepted.has(digest),

    async checkFailures(address) {
      const state = await failures.get(address);
      if (state === null || state.consumedPoints <= failuresPerMinute) return;
      const standing = standingOf(state);
      throw tooMany(standing, failureHeaders(standing));
    },
  };
}

function failureHeaders({ msLeft }: RateLimitState): Record<string, string> {
  return {
    'RateLimit-Policy': `"failures";q=${failuresPerMinute};w=60`,
    RateLimit: `"failures";r=0;t=${secondsOf(msLeft)}`,
  };
}

/** The library rejects with the state where the limit is reached; here that is an answer like any other. */
async function consume(limiter: RateLimiterMemory, id: string): Promise<RateLimitState> {
  try {
    return standingOf(await limiter.consume(id));
  } catch (error) {
    if (error instanceof Error) throw error;
    return standingOf(error as RateLimiterRes);
  }
}

function standingOf({ consumedPoints, msBeforeNext }: RateLimiterRes): RateLimitState {
  return { used: consumedPoints, msLeft: msBeforeNext };
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

function tooMany({ msLeft }: RateLimitState, headers: Record<string, string>): Refusal {
  return new Refusal('rate_limited', { headers: { ...headers, 'Retry-After': String(secondsOf(msLeft)) } });
}
