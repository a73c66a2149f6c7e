// What the inbox knows, and how parts of the page hear of it.
import type { InboxEntry, UnreadCount } from '@tocsin/contract/console';
import { emptyFeed, type Feed, setRead } from './feed.ts';
import { type Filters, noFilters } from './filters.ts';
import type { SearchState } from './search-stream.ts';

export interface InboxState {
  filters: Filters;
  feed: Feed;
  /** Came while the reader was further down; shown when they ask for it. */
  held: readonly InboxEntry[];
  /** Came while the page was open: they slide in. */
  fresh: ReadonlySet<string>;
  phase: 'loading' | 'ready' | 'failed';
  isLoadingMore: boolean;
  /** null: the list is not searched, but paged. */
  search: SearchState | null;
  unread: UnreadCount | null;
  /** Counts up when something was read, deleted or restored, here or elsewhere. */
  changes: number;
  isConnected: boolean;
  /** What is shown was kept on this device. */
  isOffline: boolean;
}

export const firstState: InboxState = {
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
  readonly now: InboxState;
  change(part: Partial<InboxState>): void;
  subscribe(listener: (state: InboxState) => void): () => void;
}

export function createStateCell(): StateCell {
  let now = firstState;
  const listeners = new Set<(state: InboxState) => void>();
  return {
    get now() {
      return now;
    },
    change(part) {
      now = { ...now, ...part };
      for (const listener of listeners) listener(now);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

/** Whether something that just came belongs into what is shown. A search for words looks at what was there. */
export function belongs({ filters }: InboxState, { severity, category, isRead }: InboxEntry): boolean {
  return (
    filters.q.trim() === '' &&
    (filters.severity.length === 0 || filters.severity.includes(severity ?? 'none')) &&
    (filters.category.length === 0 || filters.category.includes(category)) &&
    (!filters.unread || !isRead)
  );
}

/** Nothing unread anywhere: whatever is shown is read, however far back. */
export function withUnread(state: InboxState, unread: UnreadCount): Partial<InboxState> {
  if (unread.count > 0) return { unread };
  return { unread, feed: { ...state.feed, entries: setRead(state.feed.entries, () => true, true) } };
}

/** The count as the badge shows it: '' for none. */
export function unreadWords(unread: UnreadCount | null): string {
  if (unread === null || unread.count === 0) return '';
  return unread.count > 999 ? '999+' : String(unread.count);
}
