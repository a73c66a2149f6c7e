// The notifications on this page: loaded, searched, kept up to date.
import type { InboxEntry, InboxListing, LiveEvent, UnreadCount } from '@tocsin/contract/console';
import { ApiError, get, open } from '../api/client.ts';
import { loadLastItems, saveLastItems } from '../offline/last-items.ts';
import { text } from '../text/index.ts';
import { addEntries, addPage, emptyFeed, refresh, withoutEntries } from './feed.ts';
import { type Filters, needsSearch, writeFilters } from './filters.ts';
import { createInboxActions, type InboxActions } from './inbox-actions.ts';
import { belongs, createStateCell, type StateCell, withUnread } from './inbox-state.ts';
import { breakOff, chunksOf, newSearch, readLines, takeLines } from './search-stream.ts';

const pageSize = 50;
/** No more rows than this are asked for again at once; older ones stay as they were. */
const refreshedRows = 500;
const refreshDelayMs = 150;

type Arrived = Extract<LiveEvent, { event: 'arrived' }>['data'];
type Changed = Extract<LiveEvent, { event: 'changed' }>['data'];

export interface InboxStore extends Omit<InboxActions, 'version'> {
  state: StateCell;
  /** Settles with the first list: its position for live events, or null where there was none to read. */
  firstLoad: Promise<string | null>;
  show(filters: Filters): void;
  loadMore(): Promise<void>;
  /** Asks for the newest rows again. */
  refresh(): void;
  cancelSearch(): void;
  arrived(data: Arrived): void;
  changed(data: Changed): void;
  /** Whether the reader sees the top of the list. */
  atTop(isAtTop: boolean): void;
  close(): void;
}

export function createInboxStore(): InboxStore {
  const state = createStateCell();
  const { change } = state;
  const firstLoad = Promise.withResolvers<string | null>();
  let isShown = false;
  let isAtTop = true;
  let stop = new AbortController();
  let refreshTimer: ReturnType<typeof setTimeout> | undefined;
  let cameMeanwhile = new Set<string>();
  const actions = createInboxActions(state, () => later());

  const pagePath = (limit: number, before: string | null): string => {
    const query = new URLSearchParams({ limit: String(limit) });
    if (before !== null) query.set('before', before);
    if (state.now.filters.unread) query.set('unread', '1');
    return `/notifications?${query}`;
  };

  /** Reads pages until as much is there as is shown, and puts them in the place of what was. */
  const reload = async (): Promise<void> => {
    const { signal } = stop;
    const { version } = actions;
    cameMeanwhile = new Set();
    const wanted = Math.min(state.now.feed.entries.length, refreshedRows);
    const page = await get<InboxListing>(pagePath(pageSize, null), signal);
    while (page.next !== null && page.notifications.length < wanted) {
      const more = await get<InboxListing>(pagePath(100, page.next), signal);
      page.notifications.push(...more.notifications);
      page.damaged += more.damaged;
      page.next = more.next;
    }
    // Something was changed here while the answer was on its way: it is of yesterday.
    if (version !== actions.version) return later();
    const { feed, filters, held } = state.now;
    const newest = feed.entries[0]?.id;
    const isHeld = ({ id }: InboxEntry): boolean => !isAtTop && newest !== undefined && id > newest;
    const shown = page.notifications.filter((entry) => !isHeld(entry));
    // What was read in a list of unread ones stays until the list is left.
    const keep = (entry: InboxEntry): boolean => cameMeanwhile.has(entry.id) || (filters.unread && entry.isRead);
    const refreshed = refresh(feed, { ...page, notifications: shown }, keep);
    const stillHeld = held.filter(({ id }) => cameMeanwhile.has(id));
    change({
      feed: refreshed,
      held: addEntries(stillHeld, page.notifications.filter(isHeld)),
      phase: 'ready',
      isOffline: false,
      ...withUnread({ ...state.now, feed: refreshed }, page.unread),
    });
    if (writeFilters(filters) === '') void saveLastItems(state.now.feed.entries);
    firstLoad.resolve(page.position);
  };

  const later = (): void => {
    clearTimeout(refreshTimer);
    refreshTimer = setTimeout(() => void load(), refreshDelayMs);
  };

  const load = async (): Promise<void> => {
    try {
      // What a search found stays; only the count is asked for again.
      if (state.now.search !== null) change({ unread: await get<UnreadCount>('/notifications/unread') });
      else await reload();
    } catch (error) {
      await failed(error);
    }
  };

  const failed = async (error: unknown): Promise<void> => {
    if (!(error instanceof ApiError)) return;
    firstLoad.resolve(null);
    const isOffline = error.code === 'offline';
    if (state.now.search !== null || state.now.feed.entries.length > 0) return change({ isOffline, phase: 'ready' });
    const { filters } = state.now;
    const kept = isOffline && writeFilters(filters) === '' ? await loadLastItems() : [];
    change({ isOffline, phase: kept.length > 0 ? 'ready' : 'failed', feed: { ...emptyFeed, entries: kept } });
  };

  const search = async (): Promise<void> => {
    firstLoad.resolve(null);
    const { signal } = stop;
    const { filters, search: earlier } = state.now;
    const before = earlier ?? newSearch;
    change({ search: { ...before, phase: 'running' }, phase: 'ready' });
    const query = new URLSearchParams(writeFilters(filters));
    query.set('limit', String(pageSize));
    if (before.next !== null) query.set('before', before.next);
    try {
      const { body } = await open(`/notifications/search?${query}`, signal);
      for await (const lines of readLines(chunksOf(body ?? new ReadableStream()))) {
        const { feed, search: present } = state.now;
        const step = takeLines(present ?? before, before, lines);
        const entries = addEntries(feed.entries, step.found);
        change({ search: step.search, feed: { ...feed, entries, damaged: step.search.damaged } });
      }
      if (state.now.search?.phase === 'running') throw new ApiError('offline', text.inbox.searchLost);
    } catch (error) {
      if (signal.aborted) return;
      const why = error instanceof ApiError ? error.message : text.inbox.searchLost;
      change({ search: breakOff(state.now.search ?? before, 'failed', why) });
    }
  };

  return {
    ...actions,
    state,
    firstLoad: firstLoad.promise,
    show(filters) {
      // The page and what surrounds it both ask for it.
      if (isShown && writeFilters(filters) === writeFilters(state.now.filters)) return;
      isShown = true;
      stop.abort();
      stop = new AbortController();
      change({ filters, feed: emptyFeed, held: [], phase: 'loading', search: null, isLoadingMore: false });
      if (needsSearch(filters)) void search();
      else void load();
    },
    async loadMore() {
      const { feed, isLoadingMore, search: present } = state.now;
      if (present !== null) return present.phase === 'running' || present.next === null ? undefined : search();
      if (feed.next === null || isLoadingMore) return;
      const { signal } = stop;
      change({ isLoadingMore: true });
      try {
        const page = await get<InboxListing>(pagePath(pageSize, feed.next), signal);
        change({ feed: addPage(state.now.feed, page), unread: page.unread });
      } finally {
        if (!signal.aborted) change({ isLoadingMore: false });
      }
    },
    refresh: later,
    cancelSearch() {
      stop.abort();
      stop = new AbortController();
      if (state.now.search?.phase === 'running') change({ search: breakOff(state.now.search, 'cancelled') });
    },
    arrived({ notification, unread }) {
      change({ unread });
      if (!belongs(state.now, notification)) return;
      const { id } = notification;
      cameMeanwhile.add(id);
      const { feed, held, fresh } = state.now;
      // A stream that goes on from a list, or after a break, may send again what is there.
      if (feed.entries.some((entry) => entry.id === id)) return;
      if (isAtTop) {
        const entries = addEntries(feed.entries, [notification]);
        change({ feed: { ...feed, entries }, fresh: new Set([...fresh, id]) });
        if (state.now.search === null && writeFilters(state.now.filters) === '') void saveLastItems(entries);
      } else change({ held: addEntries(held, [notification]) });
    },
    changed({ unread }) {
      change({ ...withUnread(state.now, unread), changes: state.now.changes + 1 });
      later();
    },
    atTop(isNow) {
      isAtTop = isNow;
      const { held, feed, fresh } = state.now;
      if (!isNow || held.length === 0) return;
      const ids = held.map(({ id }) => id);
      const entries = addEntries(withoutEntries(feed.entries, ids), held);
      change({ held: [], feed: { ...feed, entries }, fresh: new Set([...fresh, ...ids]) });
    },
    close() {
      stop.abort();
      clearTimeout(refreshTimer);
    },
  };
}
