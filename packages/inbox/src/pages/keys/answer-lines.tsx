import { Icon } from '../../components/icon.tsx';
import type { AnswerWords } from './answer-words.ts';

/** Always there, so that screen readers say what comes into it. */
export function AnswerLines({ outcome }: { outcome: AnswerWords | null }) {
  return (
    <div role="status">
      {outcome !== null && (
        <div class={outcome.isGood ? 'notice keys-answer good' : 'notice keys-answer error'}>
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
