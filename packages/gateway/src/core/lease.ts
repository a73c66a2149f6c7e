// Leases: until its lease ends, only the holder may act on a row. An expired lease means that the holder has crashed.

/** Longer than a request can take, clocks that differ by seconds included. */
export const leaseMs = 30_000;

/** A lease is extended if the remaining time is shorter than the slowest send. */
export const leaseReserveMs = 15_000;

/** Clocks of processes on one store may differ by this much. */
export const clockSkewMs = 30_000;

/** A lease that ends later than this was written by a clock that ran ahead, and does not count. */
export function latestLeaseEnd(now: number): number {
  return now + leaseMs + clockSkewMs;
}

export function isLeaseOver(leaseUntil: number, now: number): boolean {
  return leaseUntil <= now || leaseUntil > latestLeaseEnd(now);
}
