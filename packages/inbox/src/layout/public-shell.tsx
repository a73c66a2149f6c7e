// The layout around a page that needs no session.
import type { ComponentChildren } from 'preact';
import { Link } from '../router.tsx';
import { text } from '../text/index.ts';
import { Brand } from './brand.tsx';

export function PublicShell({ children }: { children: ComponentChildren }) {
  return (
    <>
      <header class="public-head">
        <Brand />
        <Link class="button small" href="/sign-in">
          {text.common.signIn}
        </Link>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}
