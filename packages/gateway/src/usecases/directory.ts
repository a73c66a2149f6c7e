// Cache of keys, hooks and recipients. Changes by any process take effect within a second.
import { BoundedMap } from '../core/bounded-map.ts';
import type { Recipients } from '../core/recipients.ts';
import { authenticationUnavailable } from '../core/refusal.ts';
import { type ApiKey, type DirectorySource, type Hook, StoreUnavailable } from './ports/index.ts';

/** After this time the generation is refreshed in the background. */
const refreshAfterMs = 200;
/** After this time requests wait for the refresh: a revocation has to take effect within a second. */
const trustedForMs = 800;
const maxEntries = 10_000;

/** Fresh cache entries are returned without a promise, because this is the hot path. */
type MaybePromise<T> = T | Promise<T>;

export interface Directory {
  findKey(digest: string): MaybePromise<ApiKey | null>;
  /** The key if it is cached and still trusted; does not query the store. */
  recallKey(digest: string): ApiKey | undefined;
  /** By the digest of a token. */
  findHook(digest: string): MaybePromise<Hook | null>;
  recipientsOf(ownerId: string): MaybePromise<Recipients>;
  /** Whether there are imported keys that look like generated keys with a typo. */
  hasIrregularKeys(): Promise<boolean>;
  /** Something may have changed: cached entries are not trusted before the next refresh. */
  changed(): void;
}

/** `monotonicNow` must not jump with the wall clock. */
export function createDirectory(store: DirectorySource, monotonicNow: () => number): Directory {
  const keys = new BoundedMap<string, ApiKey>(maxEntries);
  const hooks = new BoundedMap<string, Hook>(maxEntries);
  const recipients = new BoundedMap<string, Recipients>(maxEntries);
  let generation = -1;
  let hasIrregularKeys = true;
  let confirmedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | null = null;
  let invalidations = 0;

  async function readChanges(): Promise<void> {
    const startedAt = monotonicNow();
    const invalidationsBefore = invalidations;
    const changes = await store.changes.read();
    if (changes.generation !== generation) {
      keys.clear();
      hooks.clear();
      recipients.clear();
    }
    generation = changes.generation;
    hasIrregularKeys = changes.hasIrregularKeys;
    // A read that started before an invalidation confirms nothing.
    if (invalidations === invalidationsBefore) confirmedAt = startedAt;
  }

  function refresh(): Promise<void> {
    if (refreshing !== null) return refreshing;
    const reading = readChanges().finally(() => {
      if (refreshing === reading) refreshing = null;
    });
    refreshing = reading;
    return reading;
  }

  async function makeFresh(): Promise<void> {
    const age = monotonicNow() - confirmedAt;
    if (age < refreshAfterMs) return;
    const done = refresh();
    if (age < trustedForMs) {
      // A request after the trusted time waits for the refresh, and gets its failure.
      done.catch(() => undefined);
      return;
    }
    await done;
  }

  function find<T>(known: Map<string, T>, id: string, load: () => Promise<T | null>): MaybePromise<T | null> {
    const remembered = monotonicNow() - confirmedAt < refreshAfterMs ? known.get(id) : undefined;
    return remembered ?? findFresh(known, id, load);
  }

  async function findFresh<T>(known: Map<string, T>, id: string, load: () => Promise<T | null>): Promise<T | null> {
    try {
      await makeFresh();
      const remembered = known.get(id);
      if (remembered !== undefined) return remembered;
      const generationBefore = generation;
      const loaded = await load();
      // A change that was noticed in the meantime may be missing in the loaded value.
      if (loaded !== null && generation === generationBefore) known.set(id, loaded);
      return loaded;
    } catch (error) {
      if (error instanceof StoreUnavailable) throw authenticationUnavailable();
      throw error;
    }
  }

  return {
    findKey: (digest) => find(keys, digest, () => store.keys.find(digest)),
    recallKey: (digest) => (monotonicNow() - confirmedAt < trustedForMs ? keys.get(digest) : undefined),
    findHook: (digest) => find(hooks, digest, () => store.hooks.find(digest)),
    recipientsOf: (ownerId) =>
      find(recipients, ownerId, () => store.owners.recipientsOf(ownerId)) as MaybePromise<Recipients>,
    hasIrregularKeys: async () => {
      await find(new Map(), '', async () => null);
      return hasIrregularKeys;
    },
    changed: () => {
      invalidations += 1;
      confirmedAt = Number.NEGATIVE_INFINITY;
      refreshing = null;
    },
  };
}
