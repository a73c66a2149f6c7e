// The state of the inbox, and subscriptions to its changes.
import type { InboxEntry, UnreadCount } from '@tocsin/contract/console';
import { emptyFeed, type Feed, setRead } from './feed.ts';
import { type Filters, noFilters } from './filters.ts';
import type { SearchState } from './search-stream.ts';

export interface InboxState {
  filters: Filters;
  feed: Feed;
  /** Arrived while the list was scrolled down; shown on request, so that the list does not move. */
  held: readonly InboxEntry[];
  /** Ids of entries that arrived while the page was open; they are animated. */
  fresh: ReadonlySet<string>;
  phase: 'loading' | 'ready' | 'failed';
  isLoadingMore: boolean;
  /** null while the list is paged instead of searched. */
  search: SearchState | null;
  unread: UnreadCount | null;
  /** Incremented when a notification was read, deleted or restored, here or elsewhere. */
  changes: number;
  isConnected: boolean;
  /** The console cannot be reached; the list may come from the offline cache. */
  isOffline: boolean;
}

export const initialState: InboxState = {
  filters: noFilters,
  feed: emptyFeed,
  held: [],
  fresh: new Set(),
  phase: 'loading',
  isLoadingMore: false,
  search: null,
  unread: null,
  changes: 0,
  isConnected: true,
  isOffline: false,
};

export interface StateCell {
  readonly current: InboxState;
  change(part: Partial<InboxState>): void;
  subscribe(listener: (state: InboxState) => void): () => void;
}

export function createStateCell(): StateCell {
  let current = initialState;
  const listeners = new Set<(state: InboxState) => void>();
  return {
    get current() {
      return current;
    },
    change(part) {
      current = { ...current, ...part };
      for (const listener of listeners) listener(current);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

/** Whether a new entry matches the filters. A search covers only entries that existed when it started. */
export function matchesFilters({ filters }: InboxState, { severity, category, isRead }: InboxEntry): boolean {
  return (
    filters.q.trim() === '' &&
    (filters.severity.length === 0 || filters.severity.includes(severity ?? 'none')) &&
    (filters.category.length === 0 || filters.category.includes(category)) &&
    (!filters.unread || !isRead)
  );
}

/** If nothing is unread, all loaded entries are marked as read, too. */
export function withUnread(state: InboxState, unread: UnreadCount): Partial<InboxState> {
  if (unread.count > 0) return { unread };
  return { unread, feed: { ...state.feed, entries: setRead(state.feed.entries, () => true, true) } };
}

/** The count for the badge: '' for none. */
export function formatUnread(unread: UnreadCount | null): string {
  if (unread === null || unread.count === 0) return '';
  return unread.count > 999 ? '999+' : String(unread.count);
}
