// What the reader does to notifications. It shows at once, and is taken back when the console refuses.
import type { InboxEntry } from '@tocsin/contract/console';
import { post } from '../api/client.ts';
import { addEntries, setRead, withoutEntries } from './feed.ts';
import type { StateCell } from './inbox-state.ts';

export interface InboxActions {
  /** Counts up with every change that is made here. */
  readonly version: number;
  markRead(id: string, isRead: boolean): Promise<void>;
  markAllRead(): Promise<void>;
  /** `entry` comes back with `undo`. */
  remove(entry: InboxEntry): Promise<void>;
  /** Brings back one that was deleted here, or the last of them; false when there is none. */
  undo(id?: string): Promise<boolean>;
}

export function createInboxActions(state: StateCell, settled: () => void): InboxActions {
  const deleted: InboxEntry[] = [];
  let version = 0;

  const setEntries = (entries: readonly InboxEntry[]): void => {
    state.change({ feed: { ...state.now.feed, entries } });
  };

  const count = (by: number): void => {
    const { unread } = state.now;
    // At its limit the count may stand for more, and stays.
    if (unread !== null && unread.count < unread.atMost)
      state.change({ unread: { ...unread, count: Math.max(0, unread.count + by) } });
  };

  /** Both before and after: an answer that was asked for in between does not know of it. */
  const perform = async (apply: () => void, takeBack: () => void, path: string, body: object): Promise<void> => {
    version += 1;
    apply();
    try {
      await post(path, body);
    } catch (error) {
      takeBack();
      settled();
      throw error;
    } finally {
      version += 1;
    }
  };

  const show = (entry: InboxEntry): void => {
    setEntries(addEntries(state.now.feed.entries, [entry]));
    if (!entry.isRead) count(1);
  };

  const hide = (entry: InboxEntry): void => {
    setEntries(withoutEntries(state.now.feed.entries, [entry.id]));
    if (!entry.isRead) count(-1);
  };

  return {
    get version() {
      return version;
    },
    markRead(id, isRead) {
      const set = (value: boolean) => (): void => {
        const before = state.now.feed.entries.find((entry) => entry.id === id);
        if (before === undefined || before.isRead === value) return;
        setEntries(setRead(state.now.feed.entries, (entry) => entry.id === id, value));
        count(value ? -1 : 1);
      };
      return perform(set(isRead), set(!isRead), '/notifications/read', { ids: [id], isRead });
    },
    async markAllRead() {
      const { feed, held, unread } = state.now;
      const through = held[0]?.id ?? feed.entries[0]?.id;
      if (through === undefined) return;
      await perform(
        () => {
          setEntries(setRead(feed.entries, () => true, true));
          state.change({ held: setRead(held, () => true, true), unread: unread && { ...unread, count: 0 } });
        },
        () => state.change({ feed: { ...state.now.feed, entries: feed.entries }, held, unread }),
        '/notifications/read-all',
        { through },
      );
    },
    async remove(entry) {
      await perform(
        () => hide(entry),
        () => show(entry),
        '/notifications/delete',
        { ids: [entry.id] },
      );
      deleted.push(entry);
    },
    async undo(id = deleted.at(-1)?.id) {
      const index = deleted.findIndex((entry) => entry.id === id);
      const [entry] = index === -1 ? [] : deleted.splice(index, 1);
      if (entry === undefined) return false;
      try {
        await perform(
          () => show(entry),
          () => hide(entry),
          '/notifications/restore',
          { ids: [entry.id] },
        );
      } catch (error) {
        deleted.push(entry);
        throw error;
      }
      return true;
    },
  };
}
