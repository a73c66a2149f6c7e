// Actions of the user on notifications. They are applied optimistically and rolled back if the request fails.

import type { InboxEntry } from '@tocsin/contract/console';
import { inboxRoutes } from '@tocsin/contract/console/routes';
import { call } from '../api/client.ts';
import { addEntries, setRead, withoutEntries } from './feed.ts';
import type { InboxState, StateCell } from './inbox-state.ts';

export interface InboxActions {
  /** Incremented before and after every action, so that a list loaded in between is known to be stale. */
  readonly version: number;
  markRead(id: string, isRead: boolean): Promise<void>;
  /** Resolves with the argument for `undo`; null if there was nothing to mark. */
  markAllRead(): Promise<Undoable | null>;
  remove(entry: InboxEntry): Promise<Undoable>;
  /** Undoes the given action or the last one. Resolves with it; null if there is nothing to undo. */
  undo(undoable?: Undoable): Promise<Undoable | null>;
}

/** An action that can be undone. */
export type Undoable =
  | { kind: 'deleted'; entry: InboxEntry }
  /** `unread` has the ids of the loaded entries that were unread. */
  | { kind: 'all-read'; through: string; unread: ReadonlySet<string>; count: InboxState['unread'] };

export function createInboxActions(state: StateCell, reload: () => void): InboxActions {
  const undoStack: Undoable[] = [];
  let version = 0;

  const setEntries = (entries: readonly InboxEntry[]): void => {
    state.change({ feed: { ...state.current.feed, entries } });
  };

  const changeUnread = (by: number): void => {
    const { unread } = state.current;
    // At its limit the count may be too low, so it is left alone.
    if (unread !== null && unread.count < unread.atMost)
      state.change({ unread: { ...unread, count: Math.max(0, unread.count + by) } });
  };

  const perform = async <T>(apply: () => void, rollBack: () => void, send: () => Promise<T>): Promise<T> => {
    version += 1;
    apply();
    try {
      return await send();
    } catch (error) {
      rollBack();
      reload();
      throw error;
    } finally {
      version += 1;
    }
  };

  const show = (entry: InboxEntry): void => {
    setEntries(addEntries(state.current.feed.entries, [entry]));
    if (!entry.isRead) changeUnread(1);
  };

  const hide = (entry: InboxEntry): void => {
    setEntries(withoutEntries(state.current.feed.entries, [entry.id]));
    if (!entry.isRead) changeUnread(-1);
  };

  const remember = (undoable: Undoable): Undoable => {
    undoStack.push(undoable);
    return undoable;
  };

  const setUnread = ({ unread, count: before }: Extract<Undoable, { kind: 'all-read' }>): void => {
    const wasUnread = ({ id }: InboxEntry): boolean => unread.has(id);
    setEntries(setRead(state.current.feed.entries, wasUnread, false));
    const since = state.current.unread?.count ?? 0;
    state.change({
      held: setRead(state.current.held, wasUnread, false),
      unread: before && { ...before, count: Math.min(before.atMost, before.count + since) },
    });
  };

  /** Resolves with false if the console reports that the action can no longer be undone. */
  const revert = async (undoable: Undoable): Promise<boolean> => {
    if (undoable.kind === 'deleted') {
      const { entry } = undoable;
      await perform(
        () => show(entry),
        () => hide(entry),
        () => call(inboxRoutes.restoreNotifications, { body: { ids: [entry.id] } }),
      );
      return true;
    }
    const { isUndone } = await perform(
      () => setUnread(undoable),
      () => undefined,
      () => call(inboxRoutes.undoMarkAllRead, { body: { through: undoable.through } }),
    );
    if (!isUndone) reload();
    return isUndone;
  };

  return {
    get version() {
      return version;
    },
    markRead(id, isRead) {
      const set = (value: boolean) => (): void => {
        const before = state.current.feed.entries.find((entry) => entry.id === id);
        if (before === undefined || before.isRead === value) return;
        setEntries(setRead(state.current.feed.entries, (entry) => entry.id === id, value));
        changeUnread(value ? -1 : 1);
      };
      return perform(set(isRead), set(!isRead), () => call(inboxRoutes.markRead, { body: { ids: [id], isRead } }));
    },
    async markAllRead() {
      const { feed, held, unread } = state.current;
      const through = held[0]?.id ?? feed.entries[0]?.id;
      if (through === undefined) return null;
      await perform(
        () => {
          setEntries(setRead(feed.entries, () => true, true));
          state.change({ held: setRead(held, () => true, true), unread: unread && { ...unread, count: 0 } });
        },
        () => state.change({ feed: { ...state.current.feed, entries: feed.entries }, held, unread }),
        () => call(inboxRoutes.markAllRead, { body: { through } }),
      );
      const shown = [...feed.entries, ...held].filter(({ isRead }) => !isRead);
      return remember({ kind: 'all-read', through, unread: new Set(shown.map(({ id }) => id)), count: unread });
    },
    async remove(entry) {
      await perform(
        () => hide(entry),
        () => show(entry),
        () => call(inboxRoutes.deleteNotifications, { body: { ids: [entry.id] } }),
      );
      return remember({ kind: 'deleted', entry });
    },
    async undo(undoable = undoStack.at(-1)) {
      const index = undoable === undefined ? -1 : undoStack.indexOf(undoable);
      if (undoable === undefined || index === -1) return null;
      undoStack.splice(index, 1);
      try {
        return (await revert(undoable)) ? undoable : null;
      } catch (error) {
        undoStack.push(undoable);
        throw error;
      }
    },
  };
}
