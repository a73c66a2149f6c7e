// Moves the focus to the heading of a new page, for users of keyboards and screen readers.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

/** The browser itself handles scrolling and focus of the first page. */
let isFirstPage = true;

export function PageFrame({ children }: { children: ComponentChildren }) {
  useEffect(() => {
    const anchor = location.hash === '' ? null : document.getElementById(location.hash.slice(1));
    anchor?.scrollIntoView();
    if (!isFirstPage) {
      if (anchor === null) scrollTo(0, 0);
      focusHeading(anchor ?? document);
    }
    isFirstPage = false;
  }, []);
  return <>{children}</>;
}

function focusHeading(within: ParentNode): void {
  const heading = within.querySelector<HTMLElement>('h1, h2');
  if (heading === null) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}
