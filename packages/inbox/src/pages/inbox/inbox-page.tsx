import './inbox.css';
import './inbox-detail.css';
import type { InboxEntry } from '@tocsin/contract/console';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { EmptyState } from '../../components/empty-state.tsx';
import { showError, showToast } from '../../components/toast.tsx';
import { neighbour } from '../../inbox/feed.ts';
import { noFilters, readFilters, writeFilters } from '../../inbox/filters.ts';
import type { Undoable } from '../../inbox/inbox-actions.ts';
import { useInbox, useInboxState } from '../../inbox/inbox-provider.tsx';
import { navigate, useQuery } from '../../router.tsx';
import { text } from '../../text/index.ts';
import { InboxDetailView } from './inbox-detail.tsx';
import { InboxEmpty } from './inbox-empty.tsx';
import { InboxList } from './inbox-list.tsx';
import { rowId } from './inbox-row.tsx';
import { InboxToolbar, searchBoxId } from './inbox-toolbar.tsx';
import { KeysDialog } from './keys-dialog.tsx';
import { useInboxKeys } from './use-inbox-keys.ts';

/** From this width on, list and detail are side by side. Keep equal to inbox.css. */
const twoPane = matchMedia('(min-width: 64rem)');

export function InboxPage({ id }: { id: string | null }) {
  const store = useInbox();
  const { feed } = useInboxState();
  const query = useQuery();
  const filters = useMemo(() => readFilters(query), [query]);
  useEffect(() => store.show(filters), [store, filters]);
  const [cursorId, setCursorId] = useState<string | null>(null);
  const [isHelpShown, setHelpShown] = useState(false);
  const { entries } = feed;
  const filterQuery = writeFilters(filters);
  const currentId = id ?? cursorId;

  // The row that takes the focus after the next render: after a key press, a deletion, or closing the detail.
  const focusNext = useRef<string | null>(null);
  useLayoutEffect(() => {
    const row = focusNext.current === null ? null : document.getElementById(rowId(focusNext.current));
    if (row === null) return;
    row.focus();
    row.scrollIntoView({ block: 'nearest' });
    focusNext.current = null;
  });
  useEffect(() => {
    if (id !== null) setCursorId(id);
  }, [id]);

  const show = (entry: InboxEntry, replace = false): void => navigate(`/inbox/${entry.id}${filterQuery}`, { replace });
  const backToList = (): void => {
    focusNext.current = id;
    navigate(`/${filterQuery}`);
  };
  const move = (side: 'newer' | 'older'): void => {
    const next = currentId === null ? entries[0] : neighbour(entries, currentId, side);
    if (next === undefined || next === null) {
      if (side === 'older') store.loadMore().catch(showError);
      return;
    }
    if (twoPane.matches || id === null) focusNext.current = next.id;
    if (id === null) setCursorId(next.id);
    else show(next, true);
  };
  const setRead = (entry: InboxEntry, isRead: boolean): void => {
    store.markRead(entry.id, isRead).catch(showError);
  };
  const toasts = useRef(new Map<Undoable, () => void>());
  const undo = async (undoable?: Undoable): Promise<void> => {
    try {
      const undone = await store.undo(undoable);
      if (undone !== null) {
        // Dismiss the toast of the action, whether the button or the key was used.
        toasts.current.get(undone)?.();
        toasts.current.delete(undone);
        showToast(undone.kind === 'deleted' ? text.inbox.restored : text.inbox.unreadAgain);
      } else if (undoable !== undefined) showToast(text.inbox.cannotUndo);
    } catch (error) {
      showError(error);
    }
  };
  const offerUndo = (message: string, undoable: Undoable): void => {
    toasts.current.set(undoable, showToast(message, { label: text.common.undo, run: () => undo(undoable) }));
  };
  const markAllRead = async (): Promise<void> => {
    try {
      const undoable = await store.markAllRead();
      if (undoable !== null) offerUndo(text.inbox.allMarkedRead, undoable);
    } catch (error) {
      showError(error);
    }
  };
  const remove = (entry: InboxEntry): void => {
    const next = neighbour(entries, entry.id, 'older') ?? neighbour(entries, entry.id, 'newer');
    focusNext.current = next?.id ?? null;
    setCursorId(next?.id ?? null);
    if (id === entry.id) {
      if (next !== null && twoPane.matches) show(next, true);
      else navigate(`/${filterQuery}`, { replace: true });
    }
    store.remove(entry).then((undoable) => offerUndo(text.inbox.deleted(entry.title), undoable), showError);
  };
  const withCurrent = (act: (entry: InboxEntry) => void) => (): void => {
    const entry = entries.find((listed) => listed.id === currentId);
    if (entry !== undefined) act(entry);
  };
  const setFilters = (next: typeof filters, replace: boolean): void =>
    navigate(`${location.pathname}${writeFilters(next)}`, { replace });

  useInboxKeys({
    next: () => move('older'),
    previous: () => move('newer'),
    open: withCurrent((entry) => show(entry)),
    toggleRead: withCurrent((entry) => setRead(entry, !entry.isRead)),
    remove: withCurrent(remove),
    undo: () => void undo(),
    search: () => {
      // A row that is still to be rendered must not take the focus from the search box.
      focusNext.current = null;
      document.getElementById(searchBoxId)?.focus();
    },
    close: () => {
      if (id !== null) backToList();
      else if (filterQuery !== '') setFilters(noFilters, false);
    },
    help: () => setHelpShown(true),
  });

  const openNeighbour = (side: 'newer' | 'older'): (() => void) | null =>
    id === null || neighbour(entries, id, side) === null ? null : () => move(side);

  return (
    <div class={id === null ? 'inbox' : 'inbox has-detail'}>
      <div class="inbox-list-pane">
        <InboxToolbar
          filters={filters}
          onFilters={setFilters}
          onMarkAllRead={markAllRead}
          onShowKeys={() => setHelpShown(true)}
        />
        <InboxList openId={id} cursorId={cursorId}>
          {entries.length === 0 && <InboxEmpty onClear={() => setFilters(noFilters, false)} />}
        </InboxList>
        <Announcer />
      </div>
      <div class="inbox-detail-pane">
        {id === null ? (
          <EmptyState icon="inbox" title={text.inbox.pickTitle}>
            <p>{text.inbox.pick}</p>
            <p class="small">{text.inbox.pickKeys}</p>
          </EmptyState>
        ) : (
          <InboxDetailView
            key={id}
            id={id}
            newer={openNeighbour('newer')}
            older={openNeighbour('older')}
            onBack={backToList}
            onRead={setRead}
            onDelete={remove}
          />
        )}
      </div>
      {isHelpShown && <KeysDialog onClose={() => setHelpShown(false)} />}
    </div>
  );
}

/** Announces new notifications to screen readers. */
function Announcer() {
  const { feed, held, fresh } = useInboxState();
  const newest = held[0] ?? feed.entries.find(({ id }) => fresh.has(id));
  return (
    <span class="visually-hidden" role="status">
      {newest === undefined || (held.length === 0 && !fresh.has(newest.id)) ? '' : text.inbox.arrived(newest.title)}
    </span>
  );
}
