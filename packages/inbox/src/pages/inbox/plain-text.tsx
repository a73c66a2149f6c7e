import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { stripBidiControls } from '../../inbox/text-direction.ts';
import { foldText } from '../../inbox/text-fold.ts';
import { splitLinks } from '../../inbox/text-links.ts';
import { text as words } from '../../text/index.ts';

/** In UTF-16 code units: the maximum length of a body in the contract. */
const maxBodyLength = 4000;
const moreCharacters = 20_000;

/** Shows untrusted text: nothing in it is markup, and only web addresses become links. Folded after `first` characters. */
export function PlainText({ content, first = maxBodyLength }: { content: string; first?: number }) {
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
