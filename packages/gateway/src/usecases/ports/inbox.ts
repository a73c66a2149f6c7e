// The inbox of an owner: read and deleted notifications, search, and changes for the live feed.
import type { SearchTerms } from '../../core/search-match.ts';
import type { Notification } from './notifications.ts';

export interface InboxItem extends Notification {
  isRead: boolean;
}

export interface InboxPage {
  items: InboxItem[];
  /** Ids of rows that cannot be decrypted: they were altered, or their key is missing. */
  damaged: string[];
  /** `before` of the next page; undefined on the last. */
  next: string | undefined;
}

export interface InboxQuery {
  limit: number;
  /** Only notifications older than this one. */
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
  /** Number of rows searched, without damaged and skipped ones. */
  searched: number;
  /** Creation time of the last row searched; undefined if there is none. */
  reachedAt: number | undefined;
  damaged: string[];
  /** Ids of rows whose search timed out: it is unknown whether they match. */
  skipped: string[];
  next: string | undefined;
}

/** Changes of one inbox since it was last read. */
export interface InboxNews {
  ownerId: string;
  /** Incremented whenever a notification is marked read or unread, deleted or restored. */
  generation: number;
  /** Ids of new notifications, oldest first, up to `limit`. */
  arrived: string[];
}

/**
 * An owner's inbox. Deleted notifications are hidden at once and can be restored until they are purged. Marks are rows of
 * their own, so that accepting a notification costs no more for them.
 */
export type SavedListener = (ownerId: string) => void;

export interface InboxRepository {
  /** Newest first. A page of large notifications may hold fewer than `limit`; `next` is set if there are more. */
  list(ownerId: string, query: InboxQuery): Promise<InboxPage>;
  /** Lists matches only. Searches off the main thread with a time limit per row; ends early when the signal aborts. */
  search(ownerId: string, search: InboxSearch, signal: AbortSignal): Promise<SearchedPage>;
  find(ownerId: string, id: string): Promise<InboxItem | null>;
  /** Counts up to `atMost`. */
  countUnread(ownerId: string, atMost: number): Promise<number>;
  /** Ignores unknown ids. */
  markRead(ownerId: string, ids: readonly string[], isRead: boolean): Promise<void>;
  /** Marks `through` and everything older. If all of it is read already, neither the marks nor the undo state change. */
  markAllRead(ownerId: string, through: string): Promise<void>;
  /** Reverts the last `markAllRead`; false if `through` is not the one it was called with. */
  undoMarkAllRead(ownerId: string, through: string): Promise<boolean>;
  /** Ignores unknown ids; returns the number of notifications deleted. */
  delete(ownerId: string, ids: readonly string[], at: number): Promise<number>;
  /** Ignores unknown ids; returns the number of notifications restored. */
  restore(ownerId: string, ids: readonly string[]): Promise<number>;
  /** Reads the news of several inboxes in one round trip. `after` is a notification id, or empty. */
  readNews(inboxes: readonly { ownerId: string; after: string }[], limit: number): Promise<InboxNews[]>;
  /** Calls back with the owner of each notification that this process has stored. The returned function ends that. */
  onSaved(listener: SavedListener): () => void;
  /** Purges notifications that were deleted before `before`; returns how many. */
  purgeDeleted(before: number, signal?: AbortSignal): Promise<number>;
  /** Purges an owner's notifications that are older than `before`; returns how many. */
  purge(ownerId: string, before: number, signal?: AbortSignal): Promise<number>;
}
