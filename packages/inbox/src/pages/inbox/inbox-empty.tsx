import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { countFilters, type Filters, needsSearch } from '../../inbox/filters.ts';
import { useInbox, useInboxState } from '../../inbox/inbox-provider.tsx';
import { PushPanel } from '../../push/push-panel.tsx';
import { Link } from '../../router.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';

/** Shown instead of an empty list: why it is empty, and what to do. */
export function InboxEmpty({ onClear }: { onClear: () => void }) {
  const store = useInbox();
  const { phase, filters, search } = useInboxState();
  const words = text.inbox;
  if (phase === 'loading' || search?.phase === 'running') return null;
  if (phase === 'failed') {
    return (
      <EmptyState icon="offline" title={words.loadFailed}>
        <Button icon="refresh" onClick={() => store.refresh()}>
          {text.common.retry}
        </Button>
      </EmptyState>
    );
  }
  if (search?.next) return null;
  if (needsSearch(filters) || countFilters(filters) > 0) {
    const isUnreadOnly = !needsSearch(filters);
    return (
      <EmptyState
        icon={isUnreadOnly ? 'check' : 'search'}
        title={isUnreadOnly ? words.allReadTitle : words.nothingFoundTitle}
      >
        <p>{isUnreadOnly ? words.allRead : words.nothingFound}</p>
        <Button onClick={onClear}>{clearLabel(filters)}</Button>
      </EmptyState>
    );
  }
  return <FirstSteps />;
}

function clearLabel(filters: Filters): string {
  if (countFilters(filters) === 0) return text.inbox.clearSearch;
  return filters.q === '' ? text.inbox.clearFilters : text.inbox.clearBoth;
}

function FirstSteps() {
  const { service } = useSession();
  const [isHintShown, setHintShown] = useState(() => localStorage.getItem(hintKey) === null);
  const command = `curl ${service.apiUrl} \\
  -H 'Authorization: Bearer svc_…' \\
  -d title='Hello' -d body='It works.'`;
  const hide = (): void => {
    localStorage.setItem(hintKey, 'hidden');
    setHintShown(false);
  };
  return (
    <EmptyState icon="bell" title={text.inbox.emptyTitle}>
      <p>{text.inbox.empty}</p>
      <div class="inbox-first">
        <CodeBlock code={command} what={text.inbox.emptyCode} />
        <p>
          <Link class="button primary" href="/keys">
            {text.inbox.emptyLink}
          </Link>
        </p>
        {isHintShown && (
          <div class="inbox-hint">
            <PushPanel />
            <Button kind="quiet" small onClick={hide}>
              {text.inbox.hideHint}
            </Button>
          </div>
        )}
      </div>
    </EmptyState>
  );
}

/** The name of an earlier release, so that a hidden hint stays hidden. */
const hintKey = 'tocsin-ring-hint';
