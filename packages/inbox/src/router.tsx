// Client-side routing over the History API. The address bar is the only state.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { discardUnsavedEdits, hasUnsavedEdits } from './unsaved.ts';

type Listener = (path: string) => void;
const listeners = new Set<Listener>();

/** The address of the page that is shown. On popstate the address bar has already changed. */
let shownAddress = currentAddress();
let confirmLeave: (leave: () => void) => void = (leave) => leave();

/** `listener` is called before a page with unsaved edits is left, and calls `leave` to continue. */
export function onLeaveUnsaved(listener: typeof confirmLeave): void {
  confirmLeave = listener;
}

export function navigate(path: string, { replace = false } = {}): void {
  if (hasUnsavedEdits() && new URL(path, location.href).pathname !== location.pathname) {
    confirmLeave(() => {
      discardUnsavedEdits();
      navigate(path, { replace });
    });
    return;
  }
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  notifyListeners();
}

/** Back and forward change the address first, so it is restored while the user confirms. */
function handlePopState(): void {
  const target = currentAddress();
  const isElsewhere = new URL(shownAddress, location.href).pathname !== location.pathname;
  if (hasUnsavedEdits() && isElsewhere) {
    history.pushState(null, '', shownAddress);
    navigate(target);
  } else notifyListeners();
}

function currentAddress(): string {
  return location.pathname + location.search + location.hash;
}

/** The current path; the component renders again when it changes. */
export function usePath(): string {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    listeners.add(setPath);
    setPath(location.pathname);
    return () => {
      listeners.delete(setPath);
    };
  }, []);
  return path;
}

/** The current query string with its question mark; the component renders again when it changes. */
export function useQuery(): string {
  const [query, setQuery] = useState(location.search);
  useEffect(() => {
    const listen = (): void => setQuery(location.search);
    listeners.add(listen);
    listen();
    return () => {
      listeners.delete(listen);
    };
  }, []);
  return query;
}

/** The current fragment without its #. */
export function useFragment(): string {
  const [fragment, setFragment] = useState(location.hash.slice(1));
  useEffect(() => {
    const read = (): void => setFragment(location.hash.slice(1));
    listeners.add(read);
    return () => {
      listeners.delete(read);
    };
  }, []);
  return fragment;
}

/** `matchPath('/inbox/:id', '/inbox/7')` is { id: '7' }; null if the path does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const patternParts = pattern.split('/');
  const pathParts = path.split('/');
  if (patternParts.length !== pathParts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of patternParts.entries()) {
    const value = pathParts[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== value) return null;
      continue;
    }
    const decoded = decode(value);
    if (decoded === null) return null;
    params[part.slice(1)] = decoded;
  }
  return params;
}

/** null if the value is not valid percent-encoding, such as a single `%`. */
function decode(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

interface LinkProps {
  href: string;
  id?: string;
  class?: string;
  tabIndex?: number;
  title?: string;
  'aria-current'?: 'page' | 'true';
  'aria-label'?: string;
  children?: ComponentChildren;
}

/** A link within the app. Clicks with a modifier key or another button are left to the browser. */
export function Link({ href, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    event.preventDefault();
    navigate(href);
  };
  return (
    <a href={href} onClick={follow} {...rest}>
      {children}
    </a>
  );
}

function notifyListeners(): void {
  shownAddress = currentAddress();
  for (const listener of listeners) listener(location.pathname);
}

addEventListener('popstate', handlePopState);
