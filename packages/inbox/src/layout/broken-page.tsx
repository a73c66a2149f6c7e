// Shown in place of a page that threw an error or could not be loaded.
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { text } from '../text/index.ts';

export function BrokenPage() {
  return (
    <EmptyState icon="warning" title={text.common.brokenTitle} level={1}>
      <p>{text.common.broken}</p>
      <Button kind="primary" icon="refresh" onClick={() => location.reload()}>
        {text.common.reload}
      </Button>
    </EmptyState>
  );
}
