import { Button } from '../../components/button.tsx';
import type { SearchState } from '../../inbox/search-stream.ts';
import { locale, text } from '../../text/index.ts';

const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', year: 'numeric' });

/** How far a search is. Screen readers hear the end of it, not every step. */
export function SearchProgress({ search, onCancel }: { search: SearchState; onCancel: () => void }) {
  const words = searchWords(search);
  const isRunning = search.phase === 'running';
  return (
    <div class="inbox-progress small">
      {isRunning && <span class="spinner" />}
      <span class="grow">{words}</span>
      {isRunning && (
        <Button kind="quiet" small onClick={onCancel}>
          {text.inbox.cancelSearch}
        </Button>
      )}
      <span class="visually-hidden" role="status">
        {isRunning ? '' : words}
      </span>
    </div>
  );
}

function searchWords({ phase, opened, matched, reachedAt, error }: SearchState): string {
  const words = text.inbox;
  if (phase === 'failed') return words.searchFailed(error);
  if (phase === 'complete') return words.searchEnd(opened, matched);
  if (phase === 'cancelled') return words.searchCancelled(opened, matched);
  if (reachedAt === null || opened === 0) return words.searching;
  return words.progress(opened, day.format(reachedAt), matched);
}
