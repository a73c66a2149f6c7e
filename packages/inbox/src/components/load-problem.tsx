import { ApiError } from '../api/client.ts';
import { text } from '../text/index.ts';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';

/** An error with a retry button, in place of content that could not be loaded. */
export function LoadProblem({ error, onRetry }: { error: unknown; onRetry: () => Promise<void> }) {
  return (
    <Notice kind="error">
      <div class="row between">
        <span>{error instanceof ApiError ? error.message : text.common.failed}</span>
        <Button small onClick={onRetry}>
          {text.common.retry}
        </Button>
      </div>
    </Notice>
  );
}
