// Keys and recipients, remembered between requests, yet never older than a change made anywhere.
import type { Recipients } from '../core/plan.ts';
import { authenticationUnavailable } from '../core/refusal.ts';
import { type ApiKey, type DirectorySource, StoreUnavailable } from './ports/index.ts';

/** After this long the store is asked, on the side, whether anything changed. */
const refreshAfterMs = 200;
/** What was confirmed longer ago is not trusted: a revocation has to take hold within a second. */
const trustedForMs = 800;
const maxEntries = 10_000;

/** What is remembered and fresh is there at once, without a promise: this is the hot path. */
type Now<T> = T | Promise<T>;

export interface Directory {
  findKey(digest: string): Now<ApiKey | null>;
  /** The key only if it is remembered and still trusted; the store is not asked. */
  recallKey(digest: string): ApiKey | undefined;
  recipientsOf(ownerId: string): Now<Recipients>;
  /** Whether imported keys exist that look like mistyped ones. */
  hasIrregularKeys(): Promise<boolean>;
  /** Something may have changed: nothing that is remembered is trusted before the store was asked again. */
  changed(): void;
}

/** `monotonicNow` must not jump with the wall clock. */
export function createDirectory(store: DirectorySource, monotonicNow: () => number): Directory {
  const keys = new Map<string, ApiKey>();
  const recipients = new Map<string, Recipients>();
  let generation = -1;
  let hasIrregularKeys = true;
  let confirmedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | null = null;
  let timesTold = 0;

  async function askForChanges(): Promise<void> {
    const askedAt = monotonicNow();
    const toldBefore = timesTold;
    const changes = await store.changes.read();
    if (changes.generation !== generation) {
      keys.clear();
      recipients.clear();
    }
    generation = changes.generation;
    hasIrregularKeys = changes.hasIrregularKeys;
    // An answer from before the news confirms nothing.
    if (timesTold === toldBefore) confirmedAt = askedAt;
  }

  function refresh(): Promise<void> {
    if (refreshing !== null) return refreshing;
    const asking = askForChanges().finally(() => {
      if (refreshing === asking) refreshing = null;
    });
    refreshing = asking;
    return asking;
  }

  async function makeFresh(): Promise<void> {
    const age = monotonicNow() - confirmedAt;
    if (age < refreshAfterMs) return;
    const done = refresh();
    if (age < trustedForMs) {
      // Whoever comes after the trusted time waits for the answer and learns of the failure then.
      done.catch(() => undefined);
      return;
    }
    await done;
  }

  function recall<T>(known: Map<string, T>, id: string, load: () => Promise<T | null>): Now<T | null> {
    const remembered = monotonicNow() - confirmedAt < refreshAfterMs ? known.get(id) : undefined;
    return remembered ?? ask(known, id, load);
  }

  async function ask<T>(known: Map<string, T>, id: string, load: () => Promise<T | null>): Promise<T | null> {
    try {
      await makeFresh();
      const remembered = known.get(id);
      if (remembered !== undefined) return remembered;
      const generationBefore = generation;
      const loaded = await load();
      // A change that was noticed meanwhile may not be in what was read.
      if (loaded !== null && generation === generationBefore) remember(known, id, loaded);
      return loaded;
    } catch (error) {
      if (error instanceof StoreUnavailable) throw authenticationUnavailable();
      throw error;
    }
  }

  return {
    findKey: (digest) => recall(keys, digest, () => store.keys.find(digest)),
    recallKey: (digest) => (monotonicNow() - confirmedAt < trustedForMs ? keys.get(digest) : undefined),
    recipientsOf: (ownerId) => recall(recipients, ownerId, () => store.owners.recipientsOf(ownerId)) as Now<Recipients>,
    hasIrregularKeys: async () => {
      await recall(new Map(), '', async () => null);
      return hasIrregularKeys;
    },
    changed: () => {
      timesTold += 1;
      confirmedAt = Number.NEGATIVE_INFINITY;
      refreshing = null;
    },
  };
}

function remember<T>(known: Map<string, T>, id: string, value: T): void {
  if (known.size >= maxEntries) known.delete(known.keys().next().value as string);
  known.set(id, value);
}
