import type { Store } from './ports.ts';

const intervalMs = 10 * 60 * 1000;
const dayMs = 24 * 60 * 60 * 1000;
/** So long what an owner deleted can be restored at least. */
const restorableMs = 60 * 1000;

export interface RetentionParts {
  store: Pick<Store, 'purge' | 'purgeDeleted' | 'purgeInbox' | 'listOwners'>;
  retentionDays: number;
  now: () => number;
  onPurged: (count: number) => void;
  onFailed: (error: unknown) => void;
}

/**
 * Deletes for good what is older than the retention, that of all or that of its owner, and what owners deleted, now and
 * every ten minutes. Returns the function that ends it.
 */
export function startRetention(parts: RetentionParts): () => Promise<void> {
  const stop = new AbortController();
  let running = Promise.resolve();
  const purge = async (): Promise<void> => {
    try {
      const count = await purgeAll(parts, stop.signal);
      if (count > 0) parts.onPurged(count);
    } catch (error) {
      parts.onFailed(error);
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

async function purgeAll({ store, retentionDays, now: clock }: RetentionParts, signal: AbortSignal): Promise<number> {
  const now = clock();
  // 0 keeps notifications for ever; used signatures still expire.
  let count = await store.purge(retentionDays === 0 ? 0 : now - retentionDays * dayMs, now, signal);
  count += await store.purgeDeleted(now - restorableMs, signal);
  // Of an owner whose row does not open nobody knows what they chose; everybody's retention holds.
  const owners = await store.listOwners(() => undefined);
  for (const { id, retentionDays: own } of owners) {
    if (own !== null && !signal.aborted) count += await store.purgeInbox(id, now - own * dayMs, signal);
  }
  return count;
}
