// Rate limits: per key where one is set, and failed authentications per client address.
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { formatRate, type Rate } from '../core/rate.ts';
import { Refusal } from '../core/refusal.ts';
import type { ApiKey } from '../gateway/ports.ts';

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

export function createLimits(defaultRate: Rate | null): Limits {
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

  async function count(keyId: string, rate: Rate): Promise<Record<string, string>> {
    const state = await consume(limiterOf(rate), keyId);
    // draft-ietf-httpapi-ratelimit-headers: q = quota, w = window, r = remaining, t = seconds to the reset
    const headers = {
      'RateLimit-Policy': `"key";q=${rate.requests};w=${rate.seconds}`,
      RateLimit: `"key";r=${state.remainingPoints};t=${secondsUntil(state)}`,
    };
    if (state.consumedPoints > rate.requests) throw tooMany(state, headers);
    return headers;
  }

  return {
    countRequest(key) {
      const rate = key.rateLimit ?? defaultRate;
      return rate === null ? {} : count(key.id, rate);
    },

    async countFailure(address) {
      const state = await consume(failures, address);
      if (state.consumedPoints > failuresPerMinute) throw tooMany(state, failureHeaders(state));
    },

    noteAccepted(digest) {
      accepted.delete(digest);
      accepted.add(digest);
      if (accepted.size > maxAccepted) accepted.delete(accepted.keys().next().value as string);
    },

    wasAcceptedLately: (digest) => accepted.has(digest),

    async checkFailures(address) {
      const state = await failures.get(address);
      if (state !== null && state.consumedPoints > failuresPerMinute) throw tooMany(state, failureHeaders(state));
    },
  };
}

function failureHeaders(state: RateLimiterRes): Record<string, string> {
  return {
    'RateLimit-Policy': `"failures";q=${failuresPerMinute};w=60`,
    RateLimit: `"failures";r=0;t=${secondsUntil(state)}`,
  };
}

/** The library rejects with the state where the limit is reached; here that is an answer like any other. */
async function consume(limiter: RateLimiterMemory, id: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(id);
  } catch (error) {
    if (error instanceof Error) throw error;
    return error as RateLimiterRes;
  }
}

function secondsUntil(state: RateLimiterRes): number {
  return Math.max(1, Math.ceil(state.msBeforeNext / 1000));
}

function tooMany(state: RateLimiterRes, headers: Record<string, string>): Refusal {
  return new Refusal('rate_limited', { headers: { ...headers, 'Retry-After': String(secondsUntil(state)) } });
}
