import { splitLinks } from '../../inbox/text-links.ts';

/** Text that others wrote: nothing in it is markup, and only web addresses lead anywhere. */
export function PlainText({ content }: { content: string }) {
  return (
    <>
      {splitLinks(content).map(({ text, href }, index) =>
        href === null ? (
          text
        ) : (
          <a key={index} href={href} target="_blank" rel="noopener noreferrer nofollow">
            {text}
          </a>
        ),
      )}
    </>
  );
}
