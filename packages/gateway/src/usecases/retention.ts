import { type ClockRecord, holdMs, isClockTrusted, jumpMs, jumpOf, observeClock } from '../core/clock-record.ts';
import { dayMs, hourMs } from '../core/duration.ts';
import type { Store } from './ports/index.ts';

const intervalMs = 10 * 60 * 1000;
const holdHours = holdMs / hourMs;
/** Minimum time in which an owner can restore a deleted notification. */
const restorableMs = 60 * 1000;

export interface RetentionDeps {
  store: Pick<Store, 'maintenance' | 'inbox' | 'owners' | 'clock'>;
  retentionDays: number;
  now: () => number;
  /** Must not jump with the wall clock. */
  monotonicNow: () => number;
  onPurged: (count: number) => void;
  onFailed: (error: unknown) => void;
  /** Called when the clock jumped, with what is wrong, and with null once it is trusted again. */
  onClockDoubt: (doubt: string | null) => void;
}

/**
 * Purges notifications that are older than the retention of the service or of their owner, and those that owners deleted,
 * now and every ten minutes. Returns the function that stops it.
 */
export function startRetention(deps: RetentionDeps): () => Promise<void> {
  const stop = new AbortController();
  const clock = createTrustedClock(deps);
  let running = Promise.resolve();
  const purge = async (): Promise<void> => {
    await deps.store.maintenance.adoptRows().catch(deps.onFailed);
    try {
      const count = await purgeAll(deps, await clock(), stop.signal);
      if (count > 0) deps.onPurged(count);
    } catch (error) {
      deps.onFailed(error);
    }
  };
  const run = (): void => {
    running = running.then(purge);
  };
  run();
  const timer = setInterval(run, intervalMs);
  return async () => {
    clearInterval(timer);
    stop.abort();
    await running;
  };
}

/** `trustedNow`: null while nothing may be deleted by age. */
async function purgeAll(
  { store, retentionDays, now }: RetentionDeps,
  trustedNow: number | null,
  signal: AbortSignal,
): Promise<number> {
  // 0 keeps notifications forever; used signatures still expire. Orphaned rows are deleted at any time.
  const before = retentionDays === 0 || trustedNow === null ? 0 : trustedNow - retentionDays * dayMs;
  let count = await store.maintenance.purge(before, trustedNow ?? 0, signal);
  // Requested by the owner, so it does not depend on the trusted clock: a wrong clock only shortens the time to restore.
  count += await store.inbox.purgeDeleted(now() - restorableMs, signal);
  if (trustedNow === null) return count;
  // Owners whose rows cannot be decrypted are omitted: the retention of the service applies to them.
  const owners = await store.owners.list(() => undefined);
  for (const { id, retentionDays: own } of owners) {
    if (own !== null && !signal.aborted) count += await store.inbox.purge(id, trustedNow - own * dayMs, signal);
  }
  return count;
}

/** Observes the clock on every call; resolves with the time, or with null while the clock is not to be trusted. */
function createTrustedClock({ store, now, monotonicNow, onClockDoubt }: RetentionDeps): () => Promise<number | null> {
  let observedAt: number | null = null;
  let doubt: string | null = null;
  const report = (next: string | null): void => {
    if ((doubt === null) !== (next === null)) onClockDoubt(next);
    doubt = next;
  };
  return async () => {
    const { record, databaseNow } = await store.clock.read();
    const time = now();
    const problem = clockProblem(record, time, databaseNow);
    // The other nodes follow the clock of the database: this one must not make them doubt theirs.
    if (databaseNow !== null && Math.abs(time - databaseNow) > jumpMs) {
      report(problem);
      return null;
    }
    const monotonic = monotonicNow();
    const next = observeClock(record, time, observedAt === null ? 0 : monotonic - observedAt);
    observedAt = monotonic;
    await store.clock.save(next);
    report(next.jumped === null ? null : problem);
    return isClockTrusted(next) ? time : null;
  };
}

/** What is wrong with a clock that differs from the one on record, or from that of the database; null: nothing. */
export function clockProblem(record: ClockRecord | null, now: number, databaseNow: number | null): string | null {
  const skew = databaseNow === null ? 0 : now - databaseNow;
  if (Math.abs(skew) > jumpMs) {
    return `the clock of this machine is ${inDays(skew)} the clock of the database server; set the clock that is wrong`;
  }
  const jump = jumpOf(record, now);
  if (jump === 0 || record === null) return null;
  const last = new Date(record.seenAt).toISOString();
  return `the clock is ${inDays(jump)} the last time seen, ${last}; set it if it is wrong, otherwise deletion resumes after ${holdHours} hours`;
}

function inDays(ms: number): string {
  const days = Math.abs(ms / dayMs).toFixed(1);
  return `${days} days ${ms > 0 ? 'ahead of' : 'behind'}`;
}
