import { Icon } from '../../components/icon.tsx';
import type { ResponseDescription } from './describe-response.ts';

/** Rendered even while empty, because screen readers announce changes only in an existing live region. */
export function ResponseSummary({ outcome }: { outcome: ResponseDescription | null }) {
  return (
    <div role="status">
      {outcome !== null && (
        <div class={outcome.isGood ? 'notice keys-response good' : 'notice keys-response error'}>
          <Icon name={outcome.isGood ? 'check' : 'warning'} />
          <div class="grow">
            <p>{outcome.headline}</p>
            {outcome.lines.length > 0 && (
              <ul class="small">
                {outcome.lines.map((line) => (
                  <li key={line}>{line}</li>
                ))}
              </ul>
            )}
          </div>
        </div>
      )}
    </div>
  );
}
