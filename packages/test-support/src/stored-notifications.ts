// Reads the notifications of an installation through its store, page by page.
import type { NotificationContent } from '@tocsin/contract';
import { openStore } from '../../gateway/src/store/open-store.ts';
import type { Notification, Store } from '../../gateway/src/usecases/ports/index.ts';

/** Only a server opens its store with a parser that encodes data. */
export type StoredNotification = Notification & { content: NotificationContent };

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
): Promise<{ notifications: StoredNotification[]; damaged: string[] }> {
  const notifications: StoredNotification[] = [];
  const damaged: string[] = [];
  let before: string | undefined;
  do {
    const page = await store.notifications.list(ownerId, { limit: 1000, ...(before !== undefined && { before }) });
    notifications.push(...(page.notifications as StoredNotification[]));
    damaged.push(...page.damaged);
    before = page.next;
  } while (before !== undefined);
  return { notifications, damaged };
}
