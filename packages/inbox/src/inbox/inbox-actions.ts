// What the reader does to notifications. It shows at once, and is taken back when the console refuses.
import type { InboxEntry } from '@tocsin/contract/console';
import { post } from '../api/client.ts';
import { addEntries, setRead, withoutEntries } from './feed.ts';
import type { InboxState, StateCell } from './inbox-state.ts';

export interface InboxActions {
  /** Counts up with every change that is made here. */
  readonly version: number;
  markRead(id: string, isRead: boolean): Promise<void>;
  /** Resolves with what `undo` takes; null: there was nothing to mark. */
  markAllRead(): Promise<Undoable | null>;
  remove(entry: InboxEntry): Promise<Undoable>;
  /** Takes back what was done here, or the last of it. Resolves with that; null where there is nothing to undo. */
  undo(undoable?: Undoable): Promise<Undoable | null>;
}

/** Something that was done, until it is undone. */
export type Undoable =
  | { kind: 'deleted'; entry: InboxEntry }
  /** `unread` are those that were shown. */
  | { kind: 'all-read'; through: string; unread: ReadonlySet<string>; count: InboxState['unread'] };

export function createInboxActions(state: StateCell, settled: () => void): InboxActions {
  const done: Undoable[] = [];
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
  const perform = async <T>(apply: () => void, takeBack: () => void, path: string, body: object): Promise<T> => {
    version += 1;
    apply();
    try {
      return await post<T>(path, body);
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

  const remember = (undoable: Undoable): Undoable => {
    done.push(undoable);
    return undoable;
  };

  const setUnread = ({ unread, count: before }: Extract<Undoable, { kind: 'all-read' }>): void => {
    const wasUnread = ({ id }: InboxEntry): boolean => unread.has(id);
    setEntries(setRead(state.now.feed.entries, wasUnread, false));
    const since = state.now.unread?.count ?? 0;
    state.change({
      held: setRead(state.now.held, wasUnread, false),
      unread: before && { ...before, count: Math.min(before.atMost, before.count + since) },
    });
  };

  /** false: the console says that something else was done since then. */
  const takeBack = async (undoable: Undoable): Promise<boolean> => {
    if (undoable.kind === 'deleted') {
      const { entry } = undoable;
      await perform(
        () => show(entry),
        () => hide(entry),
        '/notifications/restore',
        { ids: [entry.id] },
      );
      return true;
    }
    const { isUndone } = await perform<{ isUndone: boolean }>(
      () => setUnread(undoable),
      () => undefined,
      '/notifications/read-all/undo',
      { through: undoable.through },
    );
    if (!isUndone) settled();
    return isUndone;
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
      if (through === undefined) return null;
      await perform(
        () => {
          setEntries(setRead(feed.entries, () => true, true));
          state.change({ held: setRead(held, () => true, true), unread: unread && { ...unread, count: 0 } });
        },
        () => state.change({ feed: { ...state.now.feed, entries: feed.entries }, held, unread }),
        '/notifications/read-all',
        { through },
      );
      const shown = [...feed.entries, ...held].filter(({ isRead }) => !isRead);
      return remember({ kind: 'all-read', through, unread: new Set(shown.map(({ id }) => id)), count: unread });
    },
    async remove(entry) {
      await perform(
        () => hide(entry),
        () => show(entry),
        '/notifications/delete',
        { ids: [entry.id] },
      );
      return remember({ kind: 'deleted', entry });
    },
    async undo(undoable = done.at(-1)) {
      const index = undoable === undefined ? -1 : done.indexOf(undoable);
      if (undoable === undefined || index === -1) return null;
      done.splice(index, 1);
      try {
        return (await takeBack(undoable)) ? undoable : null;
      } catch (error) {
        done.push(undoable);
        throw error;
      }
    },
  };
}
