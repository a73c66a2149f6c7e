// What reading notifications needs from the store, beyond storing them: what was read, and what was deleted.
import type { SearchTerms } from '../../core/search-match.ts';
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

export interface InboxSearch extends InboxQuery {
  terms: SearchTerms;
  /** The page ends after this many matches. */
  mostMatches: number;
}

export interface SearchedPage {
  matches: InboxItem[];
  /** How many rows were looked through, without those below. */
  opened: number;
  /** When the last of them was created; undefined if there is none. */
  reachedAt: number | undefined;
  damaged: string[];
  /** Ids of rows that took too long to look through, so whether they match is unknown. */
  skipped: string[];
  next: string | undefined;
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
  /** Newest first. A page of large notifications may hold fewer than `limit`; `next` says whether there are more. */
  listInbox(ownerId: string, query: InboxQuery): Promise<InboxPage>;
  /** The same, of those that match. Looks through them off the main thread, each within a deadline; ends early once the signal aborts. */
  searchInbox(ownerId: string, search: InboxSearch, signal: AbortSignal): Promise<SearchedPage>;
  findInboxItem(ownerId: string, id: string): Promise<InboxItem | null>;
  /** Counts no further than `atMost`. */
  countUnread(ownerId: string, atMost: number): Promise<number>;
  /** Ids that are not there are passed over, here and below. */
  markRead(ownerId: string, ids: readonly string[], isRead: boolean): Promise<void>;
  /** That one and everything older. Where all of it is read already, nothing changes, nor does what can be undone. */
  markAllRead(ownerId: string, through: string): Promise<void>;
  /** What the last one changed is as it was; false if `through` is not that of the last one. */
  undoMarkAllRead(ownerId: string, through: string): Promise<boolean>;
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
