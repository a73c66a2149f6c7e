import { Icon } from '../../components/icon.tsx';
import type { TestOutcome } from './use-test.ts';

/** Rendered even while empty, because screen readers announce changes only in an existing live region. */
export function TestLine({ outcome }: { outcome: TestOutcome | null }) {
  return (
    <div class="devices-outcome small" role="status">
      {outcome !== null && (
        <p class={outcome.isGood ? 'good' : 'bad'}>
          <Icon name={outcome.isGood ? 'check' : 'warning'} />
          <span>{outcome.message}</span>
        </p>
      )}
    </div>
  );
}
