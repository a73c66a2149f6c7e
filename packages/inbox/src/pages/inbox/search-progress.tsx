import { Button } from '../../components/button.tsx';
import type { SearchState } from '../../inbox/search-stream.ts';
import { locale, text } from '../../text/index.ts';

const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', year: 'numeric' });

/** Progress of a search. Screen readers announce only its end. */
export function SearchProgress({ search, onCancel }: { search: SearchState; onCancel: () => void }) {
  const description = describeSearch(search);
  const isRunning = search.phase === 'running';
  return (
    <div class="inbox-progress small">
      {isRunning && <span class="spinner" />}
      <span class="grow">{description}</span>
      {isRunning && (
        <Button kind="quiet" small onClick={onCancel}>
          {text.inbox.cancelSearch}
        </Button>
      )}
      <span class="visually-hidden" role="status">
        {isRunning ? '' : description}
      </span>
    </div>
  );
}

function describeSearch({ phase, searched, matched, reachedAt, error }: SearchState): string {
  const words = text.inbox;
  if (phase === 'failed') return words.searchFailed(error);
  if (phase === 'complete') return words.searchEnd(searched, matched);
  if (phase === 'cancelled') return words.searchCancelled(searched, matched);
  if (reachedAt === null || searched === 0) return words.searching;
  return words.progress(searched, day.format(reachedAt), matched);
}
