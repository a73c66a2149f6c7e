// Retry schedule of failed deliveries.
import { dayMs, hourMs, minuteMs, secondMs } from './duration.ts';

/** Delay after the first attempt, after the first retry, and so on; the last one repeats until the delivery is dead. */
const delaysMs = [5 * secondMs, 30 * secondMs, 2 * minuteMs, 10 * minuteMs, hourMs, 3 * hourMs, 6 * hourMs];

/** A delivery that failed for this long is dead. */
export const keepTryingMs = dayMs;

/** The number of attempts in an hour and a quarter, so that a clock jump alone does not make a delivery dead. */
export const minAttempts = 5;

/** No attempt is scheduled further ahead than this, unless by a clock that was ahead. */
export const latestAttemptMs = keepTryingMs;

/**
 * Whether retries are exhausted; `attempts` includes the one that has just failed. A delivery that expires when it is
 * created has one attempt.
 */
export function isTooOld(
  { attempts, createdAt, expiresAt }: { attempts: number; createdAt: number; expiresAt: number },
  now: number,
): boolean {
  return now >= expiresAt && (attempts >= minAttempts || expiresAt <= createdAt);
}

/** Adds jitter of ±20 %, so that deliveries that failed together are not retried together. */
export function spread(delay: number, random: () => number): number {
  return Math.round(delay * (0.8 + 0.4 * random()));
}

/** Delays after the first retry, the second and so on, with jitter; for deliveries that share a schedule. */
export function laterDelays(random: () => number): number[] {
  return delaysMs.slice(1).map((delay) => spread(delay, random));
}

/**
 * Time of the next attempt after `attempts` retries: not before the provider allows it, and not after the expiry. A
 * delivery that is past its expiry but has not had `minAttempts` attempts follows the schedule.
 */
export function nextAttemptAt(
  { attempts, expiresAt }: { attempts: number; expiresAt: number },
  now: number,
  random: () => number,
  retryAfterMs = 0,
): number {
  const delay = delaysMs[Math.min(attempts, delaysMs.length - 1)] as number;
  const attemptAt = now + Math.max(spread(delay, random), retryAfterMs);
  return expiresAt > now ? Math.min(attemptAt, expiresAt) : attemptAt;
}
