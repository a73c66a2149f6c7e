import './inbox-row.css';
import type { InboxEntry } from '@tocsin/contract/console';
import { memo } from 'preact/compat';
import { clockTime, fullTime } from '../../components/time.tsx';
import { highlight } from '../../inbox/highlight.ts';
import { previewOf } from '../../inbox/preview.ts';
import { stripBidiControls } from '../../inbox/text-direction.ts';
import { Link } from '../../router.tsx';
import { text } from '../../text/index.ts';
import { SeverityMark } from './severity-mark.tsx';

interface RowProps {
  entry: InboxEntry;
  /** Includes the filters, so that going back keeps them. */
  href: string;
  /** The search whose words are highlighted. */
  query: string;
  isOpen: boolean;
  /** The only row in the tab order; arrow keys move between rows. */
  isCursor: boolean;
  isFresh: boolean;
}

// Memoized, because the list can have thousands of rows.
export const InboxRow = memo(function InboxRow({ entry, href, query, isOpen, isCursor, isFresh }: RowProps) {
  const { id, title, source, category, severity, createdAt, isRead } = entry;
  const classes = ['inbox-row', severity ?? 'none', !isRead && 'unread', isFresh && 'fresh'];
  const preview = previewOf(entry);
  return (
    <li class={classes.filter(Boolean).join(' ')}>
      <Link
        id={rowId(id)}
        href={href}
        tabIndex={isCursor ? 0 : -1}
        {...(isOpen && { 'aria-current': 'true' as const })}
      >
        <SeverityMark severity={severity} />
        <span class="inbox-row-main">
          <span class="inbox-row-top">
            {!isRead && (
              <span class="inbox-dot">
                <span class="visually-hidden">{text.inbox.unreadMark}</span>
              </span>
            )}
            <span class="inbox-row-title" dir="auto">
              <Highlighted content={title} query={query} />
            </span>
            <time dateTime={new Date(createdAt).toISOString()} title={fullTime(createdAt)}>
              {clockTime(createdAt)}
            </time>
          </span>
          {preview !== '' && (
            <span class="inbox-row-preview" dir="auto">
              <Highlighted content={preview} query={query} />
            </span>
          )}
          <span class="inbox-row-foot">
            <span class="inbox-row-source" dir="auto">
              <Highlighted content={source} query={query} />
            </span>
            {category !== 'info' && <span class="badge accent">{text.inbox.category[category]}</span>}
          </span>
        </span>
      </Link>
    </li>
  );
});

export function rowId(id: string): string {
  return `row-${id}`;
}

function Highlighted({ content, query }: { content: string; query: string }) {
  const shown = stripBidiControls(content);
  if (query === '') return <>{shown}</>;
  return (
    <>
      {highlight(shown, stripBidiControls(query)).map((piece, index) =>
        piece.isMatch ? <mark key={index}>{piece.text}</mark> : piece.text,
      )}
    </>
  );
}
