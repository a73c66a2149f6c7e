// Short messages at the foot of the page, said by screen readers too.
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/client.ts';
import { text } from '../text/index.ts';
import { Button } from './button.tsx';

interface Toast {
  id: number;
  message: string;
  action: { label: string; run: () => unknown } | null;
}

const lifetimeMs = 6000;
/** Where there is something to press: time to notice, and to think again. */
const actionLifetimeMs = 20_000;
let count = 0;
let change: (update: (present: readonly Toast[]) => readonly Toast[]) => void = () => undefined;

/** Gives a function that takes the message away: what it says may not be true any more. */
export function showToast(message: string, action: Toast['action'] = null): () => void {
  count += 1;
  const toast = { id: count, message, action };
  const drop = (): void => change((present) => present.filter(({ id }) => id !== toast.id));
  change((present) => [...present.filter((old) => !isSame(old, toast)).slice(-2), toast]);
  setTimeout(drop, action === null ? lifetimeMs : actionLifetimeMs);
  return drop;
}

/** Takes away what was said of something earlier, such as "Saved" when the next attempt begins. Actions stay. */
export function clearMessages(): void {
  change((present) => present.filter(({ action }) => action !== null));
}

export function clearToasts(): void {
  change(() => []);
}

/** What went wrong, in the console's own words. */
export function showError(error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') return;
  clearMessages();
  showToast(error instanceof ApiError ? error.message : text.common.failed);
}

export function Toasts() {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const drop = (id: number): void => setToasts((present) => present.filter((toast) => toast.id !== id));
  useEffect(() => {
    change = setToasts;
    return () => {
      change = () => undefined;
    };
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map(({ id, message, action }) => (
        <div class="toast" key={id}>
          <span class="grow">{message}</span>
          {action !== null && (
            <Button
              small
              onClick={() => {
                drop(id);
                return action.run();
              }}
            >
              {action.label}
            </Button>
          )}
          <Button small icon="close" label={text.common.close} onClick={() => drop(id)} />
        </div>
      ))}
    </div>
  );
}

/** Said again, it replaces what it said before; an action belongs to its own toast. */
function isSame(old: Toast, toast: Toast): boolean {
  return old.action === null && toast.action === null && old.message === toast.message;
}
