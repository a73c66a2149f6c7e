import './keys.css';
import type { CreatedKeyEntry, KeyEntry } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../api/use-loaded.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadProblem } from '../../components/load-problem.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { text } from '../../text/index.ts';
import { CreatedKeyDialog } from './created-key-dialog.tsx';
import { KeyRow } from './key-row.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';

const words = text.keys;

export function KeysPage() {
  const { value, error, reload } = useLoaded<{ keys: KeyEntry[] }>('/keys');
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedKeyEntry | null>(null);
  const show = async (made: CreatedKeyEntry): Promise<void> => {
    setCreating(false);
    setCreated(made);
    await reload();
  };
  return (
    <div class="page keys">
      <PageHead title={words.title} lead={words.lead}>
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          {words.create}
        </Button>
      </PageHead>
      {error !== null && <LoadProblem error={error} onRetry={reload} />}
      {value?.keys.length === 0 && (
        <div class="card">
          <EmptyState icon="key" title={words.noneTitle}>
            <p>{words.none}</p>
          </EmptyState>
        </div>
      )}
      {value !== undefined && value.keys.length > 0 && (
        <ul class="keys-list" aria-label={words.listName}>
          {inOrder(value.keys).map((key) => (
            <KeyRow key={key.id} entry={key} onChange={reload} />
          ))}
        </ul>
      )}
      {isCreating && <NewKeyDialog onCreated={show} onClose={() => setCreating(false)} />}
      {created !== null && <CreatedKeyDialog created={created} onClose={() => setCreated(null)} />}
    </div>
  );
}

/** Newest first; what is revoked comes last. */
function inOrder(keys: readonly KeyEntry[]): KeyEntry[] {
  return keys.toSorted(
    (a, b) => Number(a.revokedAt !== null) - Number(b.revokedAt !== null) || b.createdAt - a.createdAt,
  );
}
