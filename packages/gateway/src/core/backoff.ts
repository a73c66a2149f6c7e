// When something that failed is tried again.

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** After the first attempt, after the first retry, and so on; the last goes on until it is given up. */
const delaysMs = [5 * second, 30 * second, 2 * minute, 10 * minute, hour, 3 * hour, 6 * hour];

/** Failed for so long, it is given up. */
export const keepTryingMs = 24 * hour;

/** As many turns as an hour and a quarter brings: no jump of the clock alone makes anything too old. */
export const minTurns = 5;

/** No turn is further ahead than this, unless it was set by a clock that ran ahead. */
export const latestTurnMs = keepTryingMs;

/**
 * Whether it has been tried for long enough, `attempts` including the turn that has just failed. One that expires when it
 * is created has one turn.
 */
export function isTooOld(
  { attempts, createdAt, expiresAt }: { attempts: number; createdAt: number; expiresAt: number },
  now: number,
): boolean {
  return now >= expiresAt && (attempts >= minTurns || expiresAt <= createdAt);
}

/** Spread by a fifth to both sides, so that what failed together does not come back together. */
export function spread(delay: number, random: () => number): number {
  return Math.round(delay * (0.8 + 0.4 * random()));
}

/** The delays after the first retry, the second and so on, spread: for what waits together. */
export function laterDelays(random: () => number): number[] {
  return delaysMs.slice(1).map((delay) => spread(delay, random));
}

/**
 * When it is tried again after so many retries; never before the provider wants it, nor after it would be given up. One
 * that is older than that, and has not had its turns, goes on by the schedule.
 */
export function nextTurn(
  { attempts, expiresAt }: { attempts: number; expiresAt: number },
  now: number,
  random: () => number,
  retryAfterMs = 0,
): number {
  const delay = delaysMs[Math.min(attempts, delaysMs.length - 1)] as number;
  const turn = now + Math.max(spread(delay, random), retryAfterMs);
  return expiresAt > now ? Math.min(turn, expiresAt) : turn;
}
