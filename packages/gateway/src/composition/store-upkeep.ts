// What the head does for its store besides using it: looks for damage once, and keeps the write-ahead log short.
import { join } from 'node:path';
import type { Config } from '../config/server.ts';
import type { Log } from '../observability/log.ts';
import { databaseFileName } from '../store/files/data-folder.ts';
import { findWalDamage } from '../store/sqlite/wal-damage.ts';
import type { Store } from '../usecases/ports/index.ts';

/** While little is written nothing else empties the log, and damage to it would cost whatever is in it. */
const checkpointMs = 60_000;

/** To be called before the store is opened: afterwards nothing tells what its write-ahead log held. */
export function reportWalDamage({ databaseUrl, dataDir }: Config, log: Pick<Log, 'walDamaged'>): void {
  const damage = databaseUrl === null ? findWalDamage(join(dataDir, databaseFileName)) : null;
  if (damage !== null) log.walDamaged(damage);
}

export interface StoreUpkeepParts {
  store: Pick<Store, 'maintenance'>;
  onDamage: (problems: readonly string[]) => void;
  onFailed: (error: unknown) => void;
}

/** Returns the function that ends it. */
export function startStoreUpkeep({ store, onDamage, onFailed }: StoreUpkeepParts): () => void {
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
