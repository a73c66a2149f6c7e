import { useEffect, useRef } from 'preact/hooks';

export interface KeyActions {
  next(): void;
  previous(): void;
  open(): void;
  toggleRead(): void;
  remove(): void;
  undo(): void;
  search(): void;
  close(): void;
  help(): void;
}

const actionOf: Readonly<Record<string, keyof KeyActions>> = {
  j: 'next',
  k: 'previous',
  o: 'open',
  u: 'toggleRead',
  '#': 'remove',
  Delete: 'remove',
  z: 'undo',
  '/': 'search',
  Escape: 'close',
  '?': 'help',
};
/** Active only where the browser does not use them itself, to follow a link or to scroll. */
const listActionOf: Readonly<Record<string, keyof KeyActions>> = {
  ArrowDown: 'next',
  ArrowUp: 'previous',
  Enter: 'open',
};

/** Keyboard shortcuts for the whole page, except in input fields and dialogs. */
export function useInboxKeys(actions: KeyActions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const handleKey = (event: KeyboardEvent): void => {
      const { key, target } = event;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (!(target instanceof HTMLElement) || target.closest('input, textarea, select, dialog') !== null) return;
      const isInList = target.closest('.inbox-row') !== null;
      const isUnfocused = target.closest('a, button, .inbox-detail') === null;
      const isListKey = isUnfocused || (isInList && key !== 'Enter');
      const action = actionOf[key] ?? (isListKey ? listActionOf[key] : undefined);
      if (action === undefined) return;
      event.preventDefault();
      latest.current[action]();
    };
    addEventListener('keydown', handleKey);
    return () => removeEventListener('keydown', handleKey);
  }, []);
}
