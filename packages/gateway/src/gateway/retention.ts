import type { Store } from './ports.ts';

const intervalMs = 10 * 60 * 1000;
const dayMs = 24 * 60 * 60 * 1000;

/** Deletes what is older than the retention, now and every ten minutes. Returns the function that ends it. */
export function startRetention(parts: {
  purge: Store['purge'];
  retentionDays: number;
  now: () => number;
  onPurged: (count: number) => void;
  onFailed: (error: unknown) => void;
}): () => Promise<void> {
  const stop = new AbortController();
  let running = Promise.resolve();
  const purge = async (): Promise<void> => {
    // 0 keeps notifications for ever; used signatures still expire.
    const before = parts.retentionDays === 0 ? 0 : parts.now() - parts.retentionDays * dayMs;
    try {
      const count = await parts.purge(before, parts.now(), stop.signal);
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
