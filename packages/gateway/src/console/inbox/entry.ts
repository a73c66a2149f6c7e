// Notifications in the form of the inbox API.
import type { JsonObject } from '@tocsin/contract';
import type { InboxEntry, UnreadCount } from '@tocsin/contract/console';
import { fullData } from '../../core/notification.ts';
import type { InboxItem, Store } from '../../usecases/ports/index.ts';
import { DecryptionFailed, EncryptionKeyMissing } from '../../usecases/ports/index.ts';

/** Counting ends here; the badge shows less. */
const atMost = 1000;

export function toEntry({ id, createdAt, content, isRead }: InboxItem): InboxEntry {
  // Encoded data is an object again in the JSON text of the response.
  return { id, createdAt, ...content, data: content.data as JsonObject, isRead };
}

/** null: it does not exist, or was deleted. */
export async function findEntry(
  store: Pick<Store, 'inbox'>,
  ownerId: string,
  id: string,
): Promise<InboxEntry | 'damaged' | null> {
  try {
    const item = await store.inbox.find(ownerId, id);
    return item && toEntry(item);
  } catch (error) {
    if (error instanceof DecryptionFailed || error instanceof EncryptionKeyMissing) return 'damaged';
    throw error;
  }
}

/** Adds what was sent to a hook, which lists leave out because of its size. */
export async function withOriginal(
  store: Pick<Store, 'notifications'>,
  ownerId: string,
  entry: InboxEntry,
): Promise<InboxEntry> {
  try {
    return { ...entry, data: fullData(entry, await store.notifications.findOriginal(ownerId, entry.id)) };
  } catch (error) {
    // The notification is shown without it.
    if (error instanceof DecryptionFailed) return entry;
    throw error;
  }
}

export async function unreadOf(store: Pick<Store, 'inbox'>, ownerId: string): Promise<UnreadCount> {
  return { count: await store.inbox.countUnread(ownerId, atMost), atMost };
}
