// The list of notifications, newest first, and operations on it. Ids grow with time, so they define the order.
import type { InboxEntry, InboxListing } from '@tocsin/contract/console';

export interface Feed {
  entries: readonly InboxEntry[];
  /** Cursor of the next page; null on the last one. */
  next: string | null;
  /** Number of loaded rows that cannot be decrypted. */
  damaged: number;
}

export const emptyFeed: Feed = { entries: [], next: null, damaged: 0 };

type Page = Pick<InboxListing, 'notifications' | 'next' | 'damaged'>;

export function addPage(feed: Feed, page: Page): Feed {
  return {
    entries: addEntries(feed.entries, page.notifications),
    next: page.next,
    damaged: feed.damaged + page.damaged,
  };
}

/** Replaces entries with the same id. */
export function addEntries(entries: readonly InboxEntry[], added: readonly InboxEntry[]): readonly InboxEntry[] {
  if (added.length === 0) return entries;
  const ids = new Set(added.map(({ id }) => id));
  const all = [...entries.filter(({ id }) => !ids.has(id)), ...added];
  return all.sort((one, other) => (one.id < other.id ? 1 : -1));
}

/**
 * Merges the newest rows, loaded again: they replace the range that they cover, and older rows stay. `keep` selects rows of
 * that range to keep although they are missing from the new ones.
 */
export function refresh(feed: Feed, page: Page, keep: (entry: InboxEntry) => boolean): Feed {
  const reached = page.next === null ? '' : (page.notifications.at(-1)?.id ?? '');
  const oldest = feed.entries.at(-1)?.id;
  const stay = feed.entries.filter((entry) => entry.id < reached || keep(entry));
  const reachesAll = oldest === undefined || reached <= oldest;
  return {
    entries: addEntries(stay, page.notifications),
    next: reachesAll ? page.next : feed.next,
    damaged: reachesAll ? page.damaged : feed.damaged,
  };
}

export function setRead(
  entries: readonly InboxEntry[],
  applies: (entry: InboxEntry) => boolean,
  isRead: boolean,
): readonly InboxEntry[] {
  return entries.map((entry) => (entry.isRead !== isRead && applies(entry) ? { ...entry, isRead } : entry));
}

export function withoutEntries(entries: readonly InboxEntry[], ids: readonly string[]): readonly InboxEntry[] {
  return entries.filter(({ id }) => !ids.includes(id));
}

/** The next older or newer entry of an id, which itself may have been deleted. */
export function neighbour(entries: readonly InboxEntry[], id: string, side: 'newer' | 'older'): InboxEntry | null {
  if (side === 'older') return entries.find((entry) => entry.id < id) ?? null;
  return entries.findLast((entry) => entry.id > id) ?? null;
}
