// Reads the notifications of an installation through its store, page by page.
import { openStore } from '../../gateway/src/store/open-store.ts';
import type { Notification, Store } from '../../gateway/src/usecases/ports/index.ts';

/** Opens the store of a data directory with its key file, and always closes it. */
export async function withStore<T>(dataDir: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({ dataDir, masterKey: null }, 'create');
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

export async function readAll(
  store: Store,
  ownerId: string,
): Promise<{ notifications: Notification[]; damaged: string[] }> {
  const notifications: Notification[] = [];
  const damaged: string[] = [];
  let before: string | undefined;
  do {
    const page = await store.notifications.list(ownerId, { limit: 1000, ...(before !== undefined && { before }) });
    notifications.push(...page.notifications);
    damaged.push(...page.damaged);
    before = page.next;
  } while (before !== undefined);
  return { notifications, damaged };
}
