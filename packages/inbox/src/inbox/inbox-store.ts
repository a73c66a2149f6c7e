// Loads and searches notifications and keeps the list up to date.

import type { InboxEntry, InboxListing, LiveEvent } from '@tocsin/contract/console';
import { inboxRoutes } from '@tocsin/contract/console/routes';
import { ApiError, call, openStream } from '../api/client.ts';
import { loadLastItems, saveLastItems } from '../offline/last-items.ts';
import { text } from '../text/index.ts';
import { addEntries, addPage, emptyFeed, refresh, withoutEntries } from './feed.ts';
import { type Filters, filterQuery, needsSearch, writeFilters } from './filters.ts';
import { createInboxActions, type InboxActions } from './inbox-actions.ts';
import { createStateCell, matchesFilters, type StateCell, withUnread } from './inbox-state.ts';
import { applyLines, chunksOf, initialSearch, interruptSearch, readLines } from './search-stream.ts';

const pageSize = 50;
/** A refresh loads at most this many rows again; older ones stay as they are. */
const maxRefreshedRows = 500;
const refreshDelayMs = 150;

type Arrived = Extract<LiveEvent, { event: 'arrived' }>['data'];
type Changed = Extract<LiveEvent, { event: 'changed' }>['data'];

export interface InboxStore extends Omit<InboxActions, 'version'> {
  state: StateCell;
  /** Resolves after the first load with the position for live events; null if no list was loaded. */
  firstLoad: Promise<string | null>;
  show(filters: Filters): void;
  loadMore(): Promise<void>;
  /** Schedules loading the newest rows again. */
  refresh(): void;
  cancelSearch(): void;
  arrived(data: Arrived): void;
  changed(data: Changed): void;
  /** Reports whether the list is scrolled to its top. */
  setAtTop(isAtTop: boolean): void;
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
  let arrivedDuringReload = new Set<string>();
  const actions = createInboxActions(state, () => scheduleRefresh());

  const loadPage = (limit: number, before: string | null, signal: AbortSignal): Promise<InboxListing> => {
    const { unread } = state.current.filters;
    const query = { limit, ...(before !== null && { before }), ...(unread && { unread: '1' as const }) };
    return call(inboxRoutes.listNotifications, { query, signal });
  };

  /** Loads as many rows as are shown, and replaces them. */
  const reload = async (): Promise<void> => {
    const { signal } = stop;
    const { version } = actions;
    arrivedDuringReload = new Set();
    const wanted = Math.min(state.current.feed.entries.length, maxRefreshedRows);
    const page = await loadPage(pageSize, null, signal);
    while (page.next !== null && page.notifications.length < wanted) {
      const more = await loadPage(100, page.next, signal);
      page.notifications.push(...more.notifications);
      page.damaged += more.damaged;
      page.next = more.next;
    }
    // An action ran while the response was on its way, so the response is stale.
    if (version !== actions.version) return scheduleRefresh();
    const { feed, filters, held } = state.current;
    const newest = feed.entries[0]?.id;
    const isHeld = ({ id }: InboxEntry): boolean => !isAtTop && newest !== undefined && id > newest;
    const shown = page.notifications.filter((entry) => !isHeld(entry));
    // In a list of unread notifications, entries that were read stay until the list is left.
    const keep = (entry: InboxEntry): boolean => arrivedDuringReload.has(entry.id) || (filters.unread && entry.isRead);
    const refreshed = refresh(feed, { ...page, notifications: shown }, keep);
    const stillHeld = held.filter(({ id }) => arrivedDuringReload.has(id));
    change({
      feed: refreshed,
      held: addEntries(stillHeld, page.notifications.filter(isHeld)),
      phase: 'ready',
      isOffline: false,
      ...withUnread({ ...state.current, feed: refreshed }, page.unread),
    });
    if (writeFilters(filters) === '') void saveLastItems(state.current.feed.entries);
    firstLoad.resolve(page.position);
  };

  const scheduleRefresh = (): void => {
    clearTimeout(refreshTimer);
    refreshTimer = setTimeout(() => void load(), refreshDelayMs);
  };

  const load = async (): Promise<void> => {
    try {
      // Search results stay; only the unread count is loaded again.
      if (state.current.search !== null) change({ unread: await call(inboxRoutes.countUnread) });
      else await reload();
    } catch (error) {
      await handleFailure(error);
    }
  };

  const handleFailure = async (error: unknown): Promise<void> => {
    if (!(error instanceof ApiError)) return;
    firstLoad.resolve(null);
    const isOffline = error.code === 'offline';
    if (state.current.search !== null || state.current.feed.entries.length > 0)
      return change({ isOffline, phase: 'ready' });
    const { filters } = state.current;
    const cached = isOffline && writeFilters(filters) === '' ? await loadLastItems() : [];
    change({ isOffline, phase: cached.length > 0 ? 'ready' : 'failed', feed: { ...emptyFeed, entries: cached } });
  };

  const search = async (): Promise<void> => {
    firstLoad.resolve(null);
    const { signal } = stop;
    const { filters, search: earlier } = state.current;
    const before = earlier ?? initialSearch;
    change({ search: { ...before, phase: 'running' }, phase: 'ready' });
    const query = {
      q: '',
      ...filterQuery(filters),
      limit: pageSize,
      ...(before.next !== null && { before: before.next }),
    };
    try {
      const { body } = await openStream(inboxRoutes.searchNotifications, { query, signal });
      for await (const lines of readLines(chunksOf(body ?? new ReadableStream()))) {
        const { feed, search: present } = state.current;
        const step = applyLines(present ?? before, before, lines);
        const entries = addEntries(feed.entries, step.found);
        change({ search: step.search, feed: { ...feed, entries, damaged: step.search.damaged } });
      }
      if (state.current.search?.phase === 'running') throw new ApiError('offline', text.inbox.searchLost);
    } catch (error) {
      if (signal.aborted) return;
      const why = error instanceof ApiError ? error.message : text.inbox.searchLost;
      change({ search: interruptSearch(state.current.search ?? before, 'failed', why) });
    }
  };

  return {
    ...actions,
    state,
    firstLoad: firstLoad.promise,
    show(filters) {
      // Both the inbox page and the provider call this on start.
      if (isShown && writeFilters(filters) === writeFilters(state.current.filters)) return;
      isShown = true;
      stop.abort();
      stop = new AbortController();
      change({ filters, feed: emptyFeed, held: [], phase: 'loading', search: null, isLoadingMore: false });
      if (needsSearch(filters)) void search();
      else void load();
    },
    async loadMore() {
      const { feed, isLoadingMore, search: present } = state.current;
      if (present !== null) return present.phase === 'running' || present.next === null ? undefined : search();
      if (feed.next === null || isLoadingMore) return;
      const { signal } = stop;
      change({ isLoadingMore: true });
      try {
        const page = await loadPage(pageSize, feed.next, signal);
        change({ feed: addPage(state.current.feed, page), unread: page.unread });
      } finally {
        if (!signal.aborted) change({ isLoadingMore: false });
      }
    },
    refresh: scheduleRefresh,
    cancelSearch() {
      stop.abort();
      stop = new AbortController();
      if (state.current.search?.phase === 'running')
        change({ search: interruptSearch(state.current.search, 'cancelled') });
    },
    arrived({ notification, unread }) {
      change({ unread });
      if (!matchesFilters(state.current, notification)) return;
      const { id } = notification;
      arrivedDuringReload.add(id);
      const { feed, held, fresh } = state.current;
      // A stream that continues from a list or after an interruption may repeat entries.
      if (feed.entries.some((entry) => entry.id === id)) return;
      if (isAtTop) {
        const entries = addEntries(feed.entries, [notification]);
        change({ feed: { ...feed, entries }, fresh: new Set([...fresh, id]) });
        if (state.current.search === null && writeFilters(state.current.filters) === '') void saveLastItems(entries);
      } else change({ held: addEntries(held, [notification]) });
    },
    changed({ unread }) {
      change({ ...withUnread(state.current, unread), changes: state.current.changes + 1 });
      scheduleRefresh();
    },
    setAtTop(isNow) {
      isAtTop = isNow;
      const { held, feed, fresh } = state.current;
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
