// Which page is shown: the path of the address bar, and nothing else.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { forgetUnsavedEdits, hasUnsavedEdits } from './unsaved.ts';

type Listener = (path: string) => void;
const listeners = new Set<Listener>();

/** Where the page really is; the address bar is ahead of it while somebody is asked. */
let shownAddress = addressNow();
let askToLeave: (leave: () => void) => void = (leave) => leave();

/** Called instead of leaving a page with unsaved edits; `leave` goes on. */
export function onLeaveUnsaved(listener: typeof askToLeave): void {
  askToLeave = listener;
}

export function navigate(path: string, { replace = false } = {}): void {
  if (hasUnsavedEdits() && new URL(path, location.href).pathname !== location.pathname) {
    askToLeave(() => {
      forgetUnsavedEdits();
      navigate(path, { replace });
    });
    return;
  }
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  announce();
}

/** Back and forward have moved already: the address is put back before somebody is asked. */
function moved(): void {
  const target = addressNow();
  const isElsewhere = new URL(shownAddress, location.href).pathname !== location.pathname;
  if (hasUnsavedEdits() && isElsewhere) {
    history.pushState(null, '', shownAddress);
    navigate(target);
  } else announce();
}

function addressNow(): string {
  return location.pathname + location.search + location.hash;
}

/** The path of the page, kept up to date. */
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

/** What follows the question mark in the address bar, kept up to date. */
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

/** What stands behind the #, without it. */
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

/** `matchPath('/inbox/:id', '/inbox/7')` is { id: '7' }; null where it does not fit. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== value) return null;
      continue;
    }
    const decoded = decode(value);
    if (decoded === null) return null;
    found[part.slice(1)] = decoded;
  }
  return found;
}

/** null for what nobody encoded: `%` alone. */
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

/** A link within the app; with a modifier key, or to a new window, the browser does what it always does. */
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

function announce(): void {
  shownAddress = addressNow();
  for (const listener of listeners) listener(location.pathname);
}

addEventListener('popstate', moved);
