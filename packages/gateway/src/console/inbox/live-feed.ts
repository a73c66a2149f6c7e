// What happens in the inboxes that somebody looks at. One look at the store serves them all, over whichever node a
// notification came; nobody looks while nobody listens.
import type { InboxEntry, UnreadCount } from '@tocsin/contract/console';
import { firstIdAt } from '../../core/uuid-v7.ts';
import type { InboxNews, Store } from '../../usecases/ports/index.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { findEntry, unreadOf } from './entry.ts';

const lookEveryMs = 400;
/** While the store fails. */
const lookAtLeastEveryMs = 2000;
/**
 * Ids are made when a notification is accepted, by the clock of its node, and come into sight when it is stored: some are
 * older than others that were seen before. Every look goes back so far.
 */
export const lookBackMs = 10_000;
/** Ids in one answer, and answers in one look: a flood is caught up with in several. */
const mostIds = 500;
const mostAnswers = 10;
/** When more than this came at once, the list is to be read again instead. */
const mostArrived = 50;

export interface Listener {
  /** Asked before it is told anything. */
  isSignedIn(): Promise<boolean>;
  arrived(notification: InboxEntry, unread: UnreadCount): void;
  changed(unread: UnreadCount): void;
  /** A fault that is not the store's being away; one of those who listen is told. */
  failed(error: unknown): void;
}

export interface LiveFeed {
  /** `ready`: what comes from now on is told; or the store is away, and then `changed` comes once it is back. */
  watch(ownerId: string, listener: Listener): { ready: Promise<void>; stop: () => void };
}

interface Inbox {
  ownerId: string;
  listeners: Set<Listener>;
  /** When it was last seen to its end. */
  since: number;
  /** Where an answer that was full ended. */
  readTo: string | null;
  /** Ids that were seen, as far back as looks go. */
  seen: Set<string>;
  /** Whether ids below this one were seen nobody knows any more; looks go back to them when the clock is put back. */
  forgottenBelow: string;
  /** null until the first look. */
  generation: number | null;
  firstLook: PromiseWithResolvers<void>;
  hasFailed: boolean;
}

type FeedStore = Pick<Store, 'inbox'>;

export function createLiveFeed(store: FeedStore, now: () => number): LiveFeed {
  const inboxes = new Map<string, Inbox>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let failures = 0;

  async function look(): Promise<void> {
    const startedAt = now();
    let due = [...inboxes.values()];
    for (let answers = 0; due.length > 0 && answers < mostAnswers; answers += 1) {
      const asked = due.map(({ ownerId, since, readTo }) => ({
        ownerId,
        after: readTo ?? firstIdAt(since - lookBackMs),
      }));
      const news = new Map((await store.inbox.readNews(asked, mostIds)).map((each) => [each.ownerId, each]));
      for (const inbox of due) {
        const found = news.get(inbox.ownerId);
        if (found !== undefined) await take(inbox, found, startedAt);
      }
      due = due.filter(({ readTo }) => readTo !== null);
    }
  }

  /** Whatever fails in here is found again by the next look. */
  async function take(inbox: Inbox, { generation, arrived }: InboxNews, lookedAt: number): Promise<void> {
    const fresh = arrived.filter((id) => !inbox.seen.has(id));
    const isFirst = inbox.generation === null;
    const news = fresh.filter((id) => id >= inbox.forgottenBelow);
    // What was there at the first look is in the list that is read afterwards.
    if (!isFirst) await tell(inbox, news, news.length < fresh.length || generation !== inbox.generation);
    else if (inbox.hasFailed) await tell(inbox, [], true);
    for (const id of fresh) inbox.seen.add(id);
    const isFull = arrived.length === mostIds;
    inbox.readTo = isFull ? (arrived.at(-1) ?? null) : null;
    if (isFull && isFirst) return;
    inbox.generation = generation;
    inbox.firstLook.resolve();
    if (isFull) return;
    inbox.since = lookedAt;
    const forgetBefore = firstIdAt(lookedAt - lookBackMs);
    for (const id of inbox.seen) if (id < forgetBefore) inbox.seen.delete(id);
    if (inbox.forgottenBelow < forgetBefore) inbox.forgottenBelow = forgetBefore;
  }

  async function tell({ ownerId, listeners }: Inbox, ids: readonly string[], hasChanged: boolean): Promise<void> {
    if (ids.length === 0 && !hasChanged) return;
    const entries: InboxEntry[] = [];
    let isMore = hasChanged || ids.length > mostArrived;
    if (ids.length <= mostArrived) {
      for (const id of ids) {
        const entry = await findEntry(store, ownerId, id);
        if (entry === 'damaged') isMore = true;
        else if (entry !== null) entries.push(entry);
      }
    }
    if (entries.length === 0 && !isMore) return;
    const unread = await unreadOf(store, ownerId);
    const present = [...listeners];
    // All before the first is told: should the store fail here, the next look begins anew, and nobody hears it twice.
    const areSignedIn = await Promise.all(present.map((listener) => listener.isSignedIn()));
    for (const listener of present.filter((_, index) => areSignedIn[index])) {
      for (const entry of entries) listener.arrived(entry, unread);
      if (isMore) listener.changed(unread);
    }
  }

  async function run(): Promise<void> {
    isLooking = true;
    try {
      await look();
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!(error instanceof StoreUnavailable))
        [...inboxes.values()][0]?.listeners.values().next().value?.failed(error);
      for (const inbox of inboxes.values()) {
        inbox.hasFailed = true;
        inbox.firstLook.resolve();
      }
    }
    isLooking = false;
    const isAwaited = failures === 0 && [...inboxes.values()].some(({ generation }) => generation === null);
    lookIn(isAwaited ? 0 : Math.min(lookAtLeastEveryMs, lookEveryMs * 2 ** failures));
  }

  function lookIn(ms: number): void {
    clearTimeout(timer);
    if (inboxes.size > 0 && !isLooking) timer = setTimeout(() => void run(), ms);
  }

  return {
    watch(ownerId, listener) {
      let inbox = inboxes.get(ownerId);
      if (inbox === undefined) {
        const since = now();
        inbox = {
          ...{ ownerId, since, readTo: null, generation: null, hasFailed: false },
          ...{ listeners: new Set(), seen: new Set(), forgottenBelow: firstIdAt(since - lookBackMs) },
          firstLook: Promise.withResolvers(),
        };
        inboxes.set(ownerId, inbox);
        lookIn(0);
      }
      const { listeners, firstLook } = inbox;
      listeners.add(listener);
      return {
        ready: firstLook.promise,
        stop: () => {
          listeners.delete(listener);
          if (listeners.size === 0 && inboxes.get(ownerId)?.listeners === listeners) inboxes.delete(ownerId);
          if (inboxes.size === 0) clearTimeout(timer);
        },
      };
    },
  };
}
