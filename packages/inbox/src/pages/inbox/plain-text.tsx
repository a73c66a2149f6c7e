import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { stripBidiControls } from '../../inbox/text-direction.ts';
import { foldText } from '../../inbox/text-fold.ts';
import { splitLinks } from '../../inbox/text-links.ts';
import { text as words } from '../../text/index.ts';

/** In units of UTF-16, of which the longest body that the contract allows has no more. */
const wholeBody = 4000;
const moreCharacters = 20_000;

/** Text that others wrote: nothing in it is markup, and only web addresses lead anywhere. Folded after `first` characters. */
export function PlainText({ content, first = wholeBody }: { content: string; first?: number }) {
  const [length, setLength] = useState(first);
  const { shown, hidden } = foldText(content, length);
  return (
    <>
      {splitLinks(shown, hidden > 0).map(({ text, href }, index) =>
        href === null ? (
          stripBidiControls(text)
        ) : (
          <a key={index} href={href} target="_blank" rel="noopener noreferrer nofollow">
            {text}
          </a>
        ),
      )}
      {hidden > 0 && (
        <span class="inbox-fold">
          <span aria-hidden="true">…</span>
          <Button small onClick={() => setLength(length + moreCharacters)}>
            {words.inbox.showMore(hidden)}
          </Button>
        </span>
      )}
    </>
  );
}
