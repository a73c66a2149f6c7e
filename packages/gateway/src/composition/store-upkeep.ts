// Store maintenance by the primary process: looks for damage once, and keeps the write-ahead log short.
import { join } from 'node:path';
import type { Config } from '../config/server.ts';
import type { Log } from '../observability/log.ts';
import { databaseFileName } from '../store/files/data-directory.ts';
import { findWalDamage } from '../store/sqlite/wal-damage.ts';
import type { Store } from '../usecases/ports/index.ts';

/** Under low load nothing else truncates the write-ahead log, and damage to it loses the commits that it contains. */
const checkpointMs = 60_000;

/** Must be called before the store is opened, because opening it discards the damaged part of the write-ahead log. */
export function reportWalDamage({ databaseUrl, dataDir }: Config, log: Pick<Log, 'walDamaged'>): void {
  const damage = databaseUrl === null ? findWalDamage(join(dataDir, databaseFileName)) : null;
  if (damage !== null) log.walDamaged(damage);
}

export interface StoreUpkeepDeps {
  store: Pick<Store, 'maintenance'>;
  onDamage: (problems: readonly string[]) => void;
  onFailed: (error: unknown) => void;
}

/** Returns the function that stops it. */
export function startStoreUpkeep({ store, onDamage, onFailed }: StoreUpkeepDeps): () => void {
  const stop = new AbortController();
  const report = (error: unknown): void => {
    if (!stop.signal.aborted) onFailed(error);
  };
  const checkpoint = (): void => void store.maintenance.checkpoint().catch(report);
  checkpoint();
  const timer = setInterval(checkpoint, checkpointMs);
  store.maintenance.examine(stop.signal).then((problems) => {
    if (problems.length > 0) onDamage(problems);
  }, report);
  return () => {
    clearInterval(timer);
    stop.abort();
  };
}
