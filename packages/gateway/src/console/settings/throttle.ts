import { RateLimiterMemory } from 'rate-limiter-flexible';
import { ConsoleRefusal } from '../refusal.ts';

/** Refuses an owner who exceeds the limit. */
export type Throttle = (ownerId: string) => Promise<void>;

export function createThrottle(message: string, { limit, seconds }: { limit: number; seconds: number }): Throttle {
  const counts = new RateLimiterMemory({ points: limit, duration: seconds });
  return async (ownerId) => {
    const { consumedPoints, msBeforeNext } = await counts.penalty(ownerId, 1);
    if (consumedPoints <= limit) return;
    throw new ConsoleRefusal('rate_limited', `${message} Try again in ${Math.ceil(msBeforeNext / 1000)} seconds.`);
  };
}
