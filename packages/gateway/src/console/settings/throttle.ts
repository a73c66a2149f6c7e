import { RateLimiterMemory } from 'rate-limiter-flexible';
import { ConsoleRefusal } from '../refusal.ts';

/** Refuses an owner who does something more often than that. */
export type Throttle = (ownerId: string) => Promise<void>;

export function createThrottle(what: string, { times, seconds }: { times: number; seconds: number }): Throttle {
  const counts = new RateLimiterMemory({ points: times, duration: seconds });
  return async (ownerId) => {
    const { consumedPoints, msBeforeNext } = await counts.penalty(ownerId, 1);
    if (consumedPoints <= times) return;
    throw new ConsoleRefusal('rate_limited', `${what} Try again in ${Math.ceil(msBeforeNext / 1000)} seconds.`);
  };
}
