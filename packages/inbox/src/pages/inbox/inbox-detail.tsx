import type { DeliveryEntry, InboxEntry } from '@tocsin/contract/console';
import { dataBesideBody } from '@tocsin/contract/data-beside-body';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { showError, showToast } from '../../components/toast.tsx';
import { useInbox, useInboxState } from '../../inbox/inbox-provider.tsx';
import { stripBidiControls } from '../../inbox/text-direction.ts';
import { locale, text } from '../../text/index.ts';
import { DataTable } from './data-table.tsx';
import { DeliveryList } from './delivery-list.tsx';
import { PlainText } from './plain-text.tsx';
import { SeverityBadge } from './severity-mark.tsx';
import { type DetailProblem, useDetail } from './use-detail.ts';

const exactTime = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'medium' });

interface DetailProps {
  id: string;
  /** Opens the neighbour; null if there is none. */
  newer: (() => void) | null;
  older: (() => void) | null;
  onBack: () => void;
  onRead: (entry: InboxEntry, isRead: boolean) => void;
  onDelete: (entry: InboxEntry) => void;
}

export function InboxDetailView({ id, newer, older, onBack, onRead, onDelete }: DetailProps) {
  const store = useInbox();
  const { feed, isOffline, isConnected, changes } = useInboxState();
  const { detail, problem, retry } = useDetail(id, changes, isOffline);
  // The entry of the list is available first, and includes optimistic changes.
  const entry = feed.entries.find((listed) => listed.id === id) ?? detail?.notification ?? null;
  const isKnown = entry !== null;
  useEffect(() => {
    if (isKnown && !entry.isRead) store.markRead(id, true).catch(() => undefined);
    // Only on opening, so that an entry marked as unread afterwards stays unread.
  }, [id, isKnown]);
  const article = useRef<HTMLElement>(null);
  // On narrow screens the detail covers the list, so it takes the focus.
  useEffect(() => {
    if (
      document.activeElement === document.body ||
      getComputedStyle(document.activeElement ?? document.body).visibility === 'hidden'
    )
      article.current?.focus({ preventScroll: true });
  }, [isKnown]);
  const isDisconnected = isOffline || !isConnected;

  return (
    <>
      <div class="inbox-detail-bar">
        <Button
          class="button quiet icon-only inbox-back"
          kind="quiet"
          icon="back"
          label={text.inbox.back}
          onClick={onBack}
        />
        <Button kind="quiet" icon="up" label={text.inbox.newer} disabled={newer === null} onClick={() => newer?.()} />
        <Button kind="quiet" icon="down" label={text.inbox.older} disabled={older === null} onClick={() => older?.()} />
        <span class="grow" />
        {entry !== null && problem !== 'not-found' && (
          <>
            <CopyButton value={`${location.origin}/inbox/${id}`} what={text.inbox.copyLink} />
            <Button
              kind="quiet"
              icon={entry.isRead ? 'email' : 'check'}
              label={entry.isRead ? text.inbox.markUnread : text.inbox.markRead}
              disabled={isDisconnected}
              onClick={() => onRead(entry, !entry.isRead)}
            />
            <Button
              kind="quiet"
              icon="trash"
              label={text.inbox.delete}
              disabled={isDisconnected}
              onClick={() => onDelete(entry)}
            />
          </>
        )}
      </div>
      {entry === null || problem === 'not-found' ? (
        problem !== null && <DetailMissing problem={problem} />
      ) : (
        <article ref={article} class="inbox-detail" tabIndex={-1} aria-labelledby="inbox-detail-title">
          <DetailHead entry={entry} />
          {entry.body !== '' && (
            <p class="inbox-body" dir="auto">
              <PlainText content={entry.body} />
            </p>
          )}
          <DetailData entry={entry} />
          {detail?.notification.id === id && (
            <section class="inbox-section" aria-labelledby="inbox-deliveries-title">
              <h3 id="inbox-deliveries-title">{text.inbox.deliveries}</h3>
              <DeliveryList
                deliveries={detail.deliveries}
                isOffline={isDisconnected}
                onRetry={(delivery) => retryDelivery(retry, delivery)}
              />
            </section>
          )}
        </article>
      )}
    </>
  );
}

async function retryDelivery(
  retry: (delivery: DeliveryEntry) => Promise<number>,
  delivery: DeliveryEntry,
): Promise<void> {
  try {
    const count = await retry(delivery);
    showToast(count > 0 ? text.inbox.retrying : text.inbox.nothingToRetry);
  } catch (error) {
    showError(error);
  }
}

function DetailHead({ entry }: { entry: InboxEntry }) {
  const { title, severity, category, source, createdAt } = entry;
  return (
    <header class="inbox-detail-head">
      <h2 id="inbox-detail-title" dir="auto">
        {stripBidiControls(title)}
      </h2>
      <p class="row">
        {severity !== null && <SeverityBadge severity={severity} />}
        {category !== 'info' && <span class="badge accent">{text.inbox.category[category]}</span>}
        <span class="soft" dir="auto">
          {stripBidiControls(source)}
        </span>
      </p>
      <p class="small soft">
        <time dateTime={new Date(createdAt).toISOString()}>{exactTime.format(createdAt)}</time>
      </p>
    </header>
  );
}

function DetailData({ entry }: { entry: InboxEntry }) {
  const data = useMemo(() => dataBesideBody(entry), [entry]);
  if (Object.keys(data).length === 0) return null;
  return (
    <section class="inbox-section" aria-labelledby="inbox-data-title">
      <div class="row between">
        <h3 id="inbox-data-title">{text.inbox.data}</h3>
        <CopyButton value={() => JSON.stringify(entry.data, null, 2)} what={text.inbox.asJson} hasLabel />
      </div>
      <DataTable data={data} />
    </section>
  );
}

function DetailMissing({ problem }: { problem: DetailProblem }) {
  const { notFoundTitle, notFound, detailFailed, offlineDetail } = text.inbox;
  if (problem === 'not-found')
    return (
      <EmptyState icon="inbox" title={notFoundTitle}>
        <p>{notFound}</p>
      </EmptyState>
    );
  return <EmptyState icon="offline" title={problem === 'offline' ? offlineDetail : detailFailed} />;
}
