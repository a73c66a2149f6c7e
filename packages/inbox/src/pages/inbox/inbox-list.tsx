import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import { showError } from '../../components/toast.tsx';
import { createDayGroups } from '../../inbox/day-groups.ts';
import { writeFilters } from '../../inbox/filters.ts';
import { useInbox, useInboxState } from '../../inbox/inbox-provider.tsx';
import { locale, text } from '../../text/index.ts';
import { InboxRow } from './inbox-row.tsx';
import { useToday } from './use-today.ts';

const groupByDay = createDayGroups(locale);
/** Scroll offsets up to this count as the top. */
const topPixels = 40;

interface ListProps {
  openId: string | null;
  cursorId: string | null;
  /** Shown instead of rows. */
  children: ComponentChildren;
}

export function InboxList({ openId, cursorId, children }: ListProps) {
  const store = useInbox();
  const { feed, held, fresh, filters, search, isLoadingMore } = useInboxState();
  const today = useToday();
  const groups = useMemo(() => groupByDay(feed.entries, today), [feed.entries, today]);
  const scroller = useRef<HTMLDivElement>(null);
  const query = writeFilters(filters);
  const tabStop = openId ?? cursorId ?? feed.entries[0]?.id;
  // The list is scrolled to its top whenever it is mounted.
  useEffect(() => store.setAtTop(true), [store]);
  const showHeld = (): void => {
    scroller.current?.scrollTo({ top: 0 });
    store.setAtTop(true);
  };
  return (
    <div
      ref={scroller}
      class="inbox-scroller"
      onScroll={(event) => store.setAtTop(event.currentTarget.scrollTop <= topPixels)}
    >
      {held.length > 0 && (
        <Button kind="primary" small class="button primary small inbox-pill" onClick={showHeld}>
          {text.inbox.pill(held.length)}
        </Button>
      )}
      {feed.damaged > 0 && (
        <p class="notice warning inbox-notice">
          <Icon name="warning" />
          {text.inbox.damaged(feed.damaged)}
        </p>
      )}
      {search !== null && search.skipped > 0 && (
        <p class="notice warning inbox-notice">
          <Icon name="warning" />
          {text.inbox.skipped(search.skipped)}
        </p>
      )}
      {children}
      {groups.map(({ day, label, items }) => (
        <section key={day} class="inbox-day" aria-label={label}>
          <h2>{label}</h2>
          <ul>
            {items.map((entry) => (
              <InboxRow
                key={entry.id}
                entry={entry}
                href={`/inbox/${entry.id}${query}`}
                query={filters.q}
                isOpen={entry.id === openId}
                isCursor={entry.id === tabStop}
                isFresh={fresh.has(entry.id)}
              />
            ))}
          </ul>
        </section>
      ))}
      {search === null && feed.next !== null && <MoreButton isLoading={isLoadingMore} more={store.loadMore} />}
      {search === null && feed.next === null && feed.entries.length > 0 && (
        <p class="inbox-end small">{text.inbox.allLoaded}</p>
      )}
      {search !== null && search.phase !== 'running' && search.next !== null && (
        <div class="inbox-more">
          <Button onClick={() => store.loadMore()}>{text.inbox.furtherBack}</Button>
        </div>
      )}
    </div>
  );
}

/** Loads automatically before it scrolls into view; it is a button for keyboards and screen readers. */
function MoreButton({ isLoading, more }: { isLoading: boolean; more: () => Promise<void> }) {
  const element = useRef<HTMLDivElement>(null);
  // After a failure it waits for a click, to avoid a loop of failing requests.
  const [isAutomatic, setAutomatic] = useState(true);
  useEffect(() => {
    if (element.current === null || isLoading || !isAutomatic) return;
    // Observe again after each page, because a short page may leave the button in view.
    const observer = new IntersectionObserver(
      (seen) => {
        if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
        observer.disconnect();
        more().catch(() => setAutomatic(false));
      },
      { root: element.current.parentElement, rootMargin: '0px 0px 600px 0px' },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [isLoading, isAutomatic, more]);
  const press = (): Promise<void> => more().then(() => setAutomatic(true), showError);
  return (
    <div ref={element} class="inbox-more">
      <Button onClick={press} disabled={isLoading}>
        {text.inbox.loadMore}
      </Button>
    </div>
  );
}
