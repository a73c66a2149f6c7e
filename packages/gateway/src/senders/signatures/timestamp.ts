// Signed timestamps: a captured request must not be valid forever.

/** The tolerance of Standard Webhooks, Stripe and Slack, in both directions. */
const toleranceSeconds = 300;

/** What is wrong with a time in seconds since 1970; null: it is close to now. */
export function timestampProblem(timestamp: string, nowMs: number): string | null {
  if (!/^\d{1,12}$/.test(timestamp)) return 'the timestamp is missing or malformed';
  const isClose = Math.abs(Number(timestamp) - nowMs / 1000) <= toleranceSeconds;
  return isClose ? null : `the timestamp is more than ${toleranceSeconds} s away from the clock of this server`;
}
