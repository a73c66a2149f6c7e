// What reading notifications needs from the store, beyond storing them: what was read, and what was deleted.
import type { Notification } from './notifications.ts';

export interface InboxItem extends Notification {
  isRead: boolean;
}

export interface InboxPage {
  items: InboxItem[];
  /** Ids of rows that do not open: they were altered, or the key they were sealed with is gone. */
  damaged: string[];
  /** `before` of the next page; undefined on the last. */
  next: string | undefined;
}

export interface InboxQuery {
  limit: number;
  /** Only what is older than this notification. */
  before?: string;
  unreadOnly?: boolean;
}

/** What has happened in one inbox since somebody looked. */
export interface InboxNews {
  ownerId: string;
  /** Counted up whenever something is read, unread, deleted or restored. */
  generation: number;
  /** Ids of notifications that came, oldest first; no more than `limit` of the question. */
  arrived: string[];
}

/**
 * An owner's inbox. What is deleted is out of sight at once and can be restored until the store purges it; nothing here
 * touches the row of the notification, so accepting one costs no more for it.
 */
export interface InboxStore {
  /** Newest first. */
  listInbox(ownerId: string, query: InboxQuery): Promise<InboxPage>;
  findInboxItem(ownerId: string, id: string): Promise<InboxItem | null>;
  /** Counts no further than `atMost`. */
  countUnread(ownerId: string, atMost: number): Promise<number>;
  /** Ids that are not there are passed over, here and below. */
  markRead(ownerId: string, ids: readonly string[], isRead: boolean): Promise<void>;
  /** That one and everything older. */
  markAllRead(ownerId: string, through: string): Promise<void>;
  /** Says how many. */
  deleteFromInbox(ownerId: string, ids: readonly string[], at: number): Promise<number>;
  restoreToInbox(ownerId: string, ids: readonly string[]): Promise<number>;
  /** One round trip for all inboxes that are being looked at. `after` is a notification id, or empty. */
  readInboxNews(inboxes: readonly { ownerId: string; after: string }[], limit: number): Promise<InboxNews[]>;
  /** Deletes for good what was deleted before; says how many. */
  purgeDeleted(before: number, signal?: AbortSignal): Promise<number>;
  /** Deletes what one owner has from before; says how many. */
  purgeInbox(ownerId: string, before: number, signal?: AbortSignal): Promise<number>;
}
