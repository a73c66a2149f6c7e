import { keyRoutes } from '@tocsin/contract/console/routes';
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
  const { value, error, reload } = useLoaded(keyRoutes.listKeys);
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedKeyEntry | null>(null);
  const show = async (made: CreatedKeyEntry): Promise<void> => {
    setCreating(false);
    setCreated(made);
    await reload();
  };
  const keys = newestFirst(value?.keys ?? []);
  const live = keys.filter(({ revokedAt }) => revokedAt === null);
  const revoked = keys.filter(({ revokedAt }) => revokedAt !== null);
  return (
    <div class="page keys">
      <PageHead title={words.title} lead={words.lead}>
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          {words.create}
        </Button>
      </PageHead>
      {error !== null && <LoadProblem error={error} onRetry={reload} />}
      {value !== undefined && live.length === 0 && (
        <div class="card">
          <EmptyState icon="key" title={words.noneTitle}>
            <p>{words.none}</p>
          </EmptyState>
        </div>
      )}
      {live.length > 0 && (
        <ul class="keys-list" aria-label={words.listName}>
          {live.map((key) => (
            <KeyRow key={key.id} entry={key} onChange={reload} />
          ))}
        </ul>
      )}
      {revoked.length > 0 && (
        <details class="keys-revoked">
          <summary>{words.revokedKeys(revoked.length)}</summary>
          <ul class="keys-list" aria-label={words.revokedListName}>
            {revoked.map((key) => (
              <KeyRow key={key.id} entry={key} onChange={reload} />
            ))}
          </ul>
        </details>
      )}
      {isCreating && <NewKeyDialog onCreated={show} onClose={() => setCreating(false)} />}
      {created !== null && <CreatedKeyDialog created={created} onClose={() => setCreated(null)} />}
    </div>
  );
}

function newestFirst(keys: readonly KeyEntry[]): KeyEntry[] {
  return keys.toSorted((a, b) => b.createdAt - a.createdAt);
}
