// Live events of the inboxes that are open in a browser. One poll of the store serves all of them, whichever node accepted
// a notification; without listeners there is no poll. A notification that this process stored, and a new inbox, do not wait
// for it: only their inboxes are polled, at once.
//
// States of the feed:
//
//             first watch()                        timer
//   ┌──────┐ ────────────────────▶ ┌───────────┐ ─────────▶ ┌─────────┐
//   │ idle │                       │ scheduled │            │ polling │
//   └──────┘ ◀──────────────────── └───────────┘ ◀───────── └─────────┘
//             last stop()                         400 ms after success, up to 2 s after failures; 50 ms after the
//                                                 last poll if an inbox is new or has news
//
// States of one inbox, from the first listener of its owner to the last:
//
//                  first poll: `ready`, nothing to report
//          ┌─────┐ ─────────────────────────────────────▶ ┌─────────┐   a read was full   ┌─────────┐
//   ─────▶ │ new │                                        │ current │ ──────────────────▶ │ partial │
//          └─────┘ ──────────▶ ┌─────────┐ ─────────────▶ └─────────┘ ◀────────────────── └─────────┘
//                  poll failed:│ delayed │ next poll:      reports `arrived`  the rest was read, from `readTo` on
//                  `ready`     └─────────┘ `changed`       and `changed`
import type { InboxEntry, UnreadCount } from '@tocsin/contract/console';
import { firstIdAt } from '../../core/uuid-v7.ts';
import type { InboxNews, Store } from '../../usecases/ports/index.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { findEntry, unreadOf } from './entry.ts';

const pollEveryMs = 400;
/** Between two polls of inboxes that are new or have news, so that a busy owner does not keep the feed polling. */
const wakeEveryMs = 50;
/** Upper limit of the backoff while the store fails. */
const maxPollEveryMs = 2000;
/**
 * Ids are created when a notification is accepted, by the clock of its node, and become visible when it is stored: a new
 * row can have a smaller id than rows that were seen before. Every poll reads back this far.
 */
export const lookBackMs = 10_000;
/** Ids per read, and reads per poll; more arrivals are read by the following polls. */
const maxIds = 500;
const maxReads = 10;
/** If more arrive at once, listeners are asked to read the list again instead. */
const maxArrived = 50;

export interface Listener {
  /** Called before data is sent. */
  isSignedIn(): Promise<boolean>;
  arrived(notification: InboxEntry, unread: UnreadCount): void;
  changed(unread: UnreadCount): void;
  /** An error other than StoreUnavailable; reported to one listener only. */
  failed(error: unknown): void;
}

export interface LiveFeed {
  /** `ready`: later notifications are reported. Or the store is not available, and `changed` follows when it is again. */
  watch(ownerId: string, listener: Listener): { ready: Promise<void>; stop: () => void };
}

interface Inbox {
  ownerId: string;
  listeners: Set<Listener>;
  /** Start of the last poll that read everything. */
  since: number;
  /** Last id of a read that was full; null: everything was read. */
  readTo: string | null;
  /** Known ids, as far back as polls read. */
  seen: Set<string>;
  /** Ids below this were evicted from `seen`; after a clock step back they are treated as changed, not as new. */
  evictedBelow: string;
  /** null until the first poll. */
  generation: number | null;
  firstPoll: PromiseWithResolvers<void>;
  hasFailed: boolean;
}

type FeedStore = Pick<Store, 'inbox'>;

export function createLiveFeed(store: FeedStore, now: () => number): LiveFeed {
  const inboxes = new Map<string, Inbox>();
  /** Inboxes that are new or have news, and are polled before the others. */
  const woken = new Set<Inbox>();
  let stopListening: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;
  let failures = 0;
  /** Of the monotonic clock, like `lastPollAt`. */
  let nextPollAt = 0;
  let lastPollAt = Number.NEGATIVE_INFINITY;

  async function poll(polled: Iterable<Inbox>): Promise<void> {
    const startedAt = now();
    let due = [...polled];
    for (let reads = 0; due.length > 0 && reads < maxReads; reads += 1) {
      const positions = due.map(({ ownerId, since, readTo }) => ({
        ownerId,
        after: readTo ?? firstIdAt(since - lookBackMs),
      }));
      const news = new Map((await store.inbox.readNews(positions, maxIds)).map((each) => [each.ownerId, each]));
      for (const inbox of due) {
        const found = news.get(inbox.ownerId);
        if (found !== undefined) await processNews(inbox, found, startedAt);
      }
      due = due.filter(({ readTo }) => readTo !== null);
    }
  }

  /** If this fails, the next poll finds the same news again. */
  async function processNews(inbox: Inbox, { generation, arrived }: InboxNews, polledAt: number): Promise<void> {
    const fresh = arrived.filter((id) => !inbox.seen.has(id));
    const isFirst = inbox.generation === null;
    const news = fresh.filter((id) => id >= inbox.evictedBelow);
    // Notifications of the first poll are in the list that the page reads afterwards.
    if (!isFirst) await report(inbox, news, news.length < fresh.length || generation !== inbox.generation);
    else if (inbox.hasFailed) await report(inbox, [], true);
    for (const id of fresh) inbox.seen.add(id);
    const isFull = arrived.length === maxIds;
    inbox.readTo = isFull ? (arrived.at(-1) ?? null) : null;
    if (isFull && isFirst) return;
    inbox.generation = generation;
    inbox.firstPoll.resolve();
    if (isFull) return;
    inbox.since = polledAt;
    const evictBefore = firstIdAt(polledAt - lookBackMs);
    for (const id of inbox.seen) if (id < evictBefore) inbox.seen.delete(id);
    if (inbox.evictedBelow < evictBefore) inbox.evictedBelow = evictBefore;
  }

  async function report({ ownerId, listeners }: Inbox, ids: readonly string[], hasChanged: boolean): Promise<void> {
    if (ids.length === 0 && !hasChanged) return;
    const entries: InboxEntry[] = [];
    let isMore = hasChanged || ids.length > maxArrived;
    if (ids.length <= maxArrived) {
      for (const id of ids) {
        const entry = await findEntry(store, ownerId, id);
        if (entry === 'damaged') isMore = true;
        else if (entry !== null) entries.push(entry);
      }
    }
    if (entries.length === 0 && !isMore) return;
    const unread = await unreadOf(store, ownerId);
    const current = [...listeners];
    // All sessions are checked before anything is sent: if the store fails here, the next poll repeats this without duplicates.
    const areSignedIn = await Promise.all(current.map((listener) => listener.isSignedIn()));
    for (const listener of current.filter((_, index) => areSignedIn[index])) {
      for (const entry of entries) listener.arrived(entry, unread);
      if (isMore) listener.changed(unread);
    }
  }

  async function run(): Promise<void> {
    isPolling = true;
    lastPollAt = performance.now();
    const isOfAll = lastPollAt >= nextPollAt;
    const due = new Set(isOfAll ? inboxes.values() : woken);
    woken.clear();
    try {
      await poll(due);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!(error instanceof StoreUnavailable))
        [...inboxes.values()][0]?.listeners.values().next().value?.failed(error);
      for (const inbox of inboxes.values()) {
        inbox.hasFailed = true;
        inbox.firstPoll.resolve();
      }
    }
    isPolling = false;
    // The first poll of a large inbox takes several.
    for (const inbox of due) if (inbox.generation === null && inboxes.get(inbox.ownerId) === inbox) woken.add(inbox);
    if (isOfAll || failures > 0) {
      nextPollAt = performance.now() + Math.min(maxPollEveryMs, pollEveryMs * 2 ** failures);
    }
    schedule();
  }

  function schedule(): void {
    clearTimeout(timer);
    if (inboxes.size === 0 || isPolling) return;
    const isWoken = woken.size > 0 && failures === 0;
    const at = isWoken ? Math.min(nextPollAt, lastPollAt + wakeEveryMs) : nextPollAt;
    // Timers may fire a millisecond early.
    timer = setTimeout(() => void run(), Math.max(0, Math.ceil(at - performance.now()) + 1));
  }

  function wake(inbox: Inbox | undefined): void {
    if (inbox === undefined || woken.has(inbox)) return;
    woken.add(inbox);
    schedule();
  }

  return {
    watch(ownerId, listener) {
      let inbox = inboxes.get(ownerId);
      if (inbox === undefined) {
        const since = now();
        inbox = {
          ...{ ownerId, since, readTo: null, generation: null, hasFailed: false },
          ...{ listeners: new Set(), seen: new Set(), evictedBelow: firstIdAt(since - lookBackMs) },
          firstPoll: Promise.withResolvers(),
        };
        inboxes.set(ownerId, inbox);
        stopListening ??= store.inbox.onSaved((savedFor) => wake(inboxes.get(savedFor)));
        wake(inbox);
      }
      const { listeners, firstPoll } = inbox;
      listeners.add(listener);
      return {
        ready: firstPoll.promise,
        stop: () => {
          listeners.delete(listener);
          const current = inboxes.get(ownerId);
          if (listeners.size > 0 || current?.listeners !== listeners) return;
          inboxes.delete(ownerId);
          woken.delete(current);
          if (inboxes.size > 0) return;
          clearTimeout(timer);
          stopListening?.();
          stopListening = undefined;
        },
      };
    },
  };
}
