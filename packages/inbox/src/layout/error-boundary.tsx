import type { ComponentChildren } from 'preact';
import { useErrorBoundary } from 'preact/hooks';
import { BrokenPage } from './broken-page.tsx';

/** Give it the page as key, so that another page is tried anew. */
export function ErrorBoundary({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary((thrown: unknown) => reportError(thrown));
  return error === undefined ? children : <BrokenPage />;
}
