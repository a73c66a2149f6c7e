// Shown if the console cannot be reached and no session is stored.
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { text } from '../text/index.ts';

export function Unreachable({ onRetry }: { onRetry: () => Promise<void> }) {
  return (
    <main class="alone">
      <EmptyState icon="offline" title={text.common.unreachableTitle} level={1}>
        <p>{text.common.unreachable}</p>
        <Button kind="primary" icon="refresh" onClick={onRetry}>
          {text.common.retry}
        </Button>
      </EmptyState>
    </main>
  );
}
