import { useId, useState } from 'preact/hooks';
import { CodeBlock } from '../../components/code-block.tsx';
import { text } from '../../text/index.ts';
import { type SnippetKey, type SnippetLanguage, snippetGenerators, snippetLanguages } from './snippets.ts';

const words = text.keys;

/** Follows the ARIA tabs pattern: one tab stop, arrow keys move between tabs. */
export function SnippetTabs({ snippetKey }: { snippetKey: SnippetKey }) {
  const [chosen, setChosen] = useState<SnippetLanguage>('curl');
  const id = useId();
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const count = snippetLanguages.length;
    const next = snippetLanguages[(snippetLanguages.indexOf(chosen) + step + count) % count] as SnippetLanguage;
    setChosen(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return (
    <div>
      <div class="keys-tabs" role="tablist" aria-label={words.snippetsName} onKeyDown={move}>
        {snippetLanguages.map((language) => (
          <button
            key={language}
            id={`${id}-${language}`}
            type="button"
            role="tab"
            aria-selected={language === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={language === chosen ? 0 : -1}
            onClick={() => setChosen(language)}
          >
            {words.languages[language]}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} class="stack" role="tabpanel" aria-labelledby={`${id}-${chosen}`}>
        <p class="soft">{hintOf(chosen, snippetKey)}</p>
        <CodeBlock code={snippetGenerators[chosen](snippetKey)} what={words.snippetOf(words.languages[chosen])} />
      </div>
    </div>
  );
}

function hintOf(language: SnippetLanguage, { requireSignature }: SnippetKey): string {
  return language === 'curl' && requireSignature ? words.snippetHints.curlSigned : words.snippetHints[language];
}
