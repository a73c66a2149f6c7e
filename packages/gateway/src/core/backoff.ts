// When something that failed is tried again.

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** After the first attempt, after the first retry, and so on; the last goes on until it is given up. */
const delaysMs = [5 * second, 30 * second, 2 * minute, 10 * minute, hour, 3 * hour, 6 * hour];

/** Failed for so long, it is given up. */
export const keepTryingMs = 24 * hour;

/** Spread by a fifth to both sides, so that what failed together does not come back together. */
export function spread(delay: number, random: () => number): number {
  return Math.round(delay * (0.8 + 0.4 * random()));
}

/** The delays after the first retry, the second and so on, spread: for what waits together. */
export function laterDelays(random: () => number): number[] {
  return delaysMs.slice(1).map((delay) => spread(delay, random));
}

/** When it is tried again after so many retries; never before the provider wants it, nor after it would be given up. */
export function nextTurn(
  { attempts, expiresAt }: { attempts: number; expiresAt: number },
  now: number,
  random: () => number,
  retryAfterMs = 0,
): number {
  const delay = delaysMs[Math.min(attempts, delaysMs.length - 1)] as number;
  return Math.min(now + Math.max(spread(delay, random), retryAfterMs), expiresAt);
}
