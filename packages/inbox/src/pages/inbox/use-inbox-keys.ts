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
/** Only where nothing else is meant by them: a link is followed, a text scrolled. */
const listActionOf: Readonly<Record<string, keyof KeyActions>> = {
  ArrowDown: 'next',
  ArrowUp: 'previous',
  Enter: 'open',
};

/** Keys for the whole page, except while somebody types or a dialog is open. */
export function useInboxKeys(actions: KeyActions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const { key, target } = event;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (!(target instanceof HTMLElement) || target.closest('input, textarea, select, dialog') !== null) return;
      const isInList = target.closest('.inbox-row') !== null;
      const isNowhere = target.closest('a, button, .inbox-detail') === null;
      const isListKey = isNowhere || (isInList && key !== 'Enter');
      const action = actionOf[key] ?? (isListKey ? listActionOf[key] : undefined);
      if (action === undefined) return;
      event.preventDefault();
      latest.current[action]();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}
