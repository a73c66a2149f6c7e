import type { ComponentChildren } from 'preact';
import { useErrorBoundary } from 'preact/hooks';
import { BrokenPage } from './broken-page.tsx';

/** Use the page as its key, so that navigating to another page resets it. */
export function ErrorBoundary({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary((thrown: unknown) => reportError(thrown));
  return error === undefined ? children : <BrokenPage />;
}
