// Short messages at the bottom of the page, announced by screen readers.
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
/** Toasts with a button stay longer, so that users can decide. */
const actionLifetimeMs = 20_000;
let count = 0;
let update: (change: (current: readonly Toast[]) => readonly Toast[]) => void = () => undefined;

/** Returns a function that dismisses the toast. */
export function showToast(message: string, action: Toast['action'] = null): () => void {
  count += 1;
  const toast = { id: count, message, action };
  const dismiss = (): void => update((current) => current.filter(({ id }) => id !== toast.id));
  update((current) => [...current.filter((old) => !isSame(old, toast)).slice(-2), toast]);
  setTimeout(dismiss, action === null ? lifetimeMs : actionLifetimeMs);
  return dismiss;
}

/** Dismisses toasts without a button, such as "Saved" when the next attempt begins. */
export function clearMessages(): void {
  update((current) => current.filter(({ action }) => action !== null));
}

export function clearToasts(): void {
  update(() => []);
}

/** Shows the error message of the console, or a general one. */
export function showError(error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') return;
  clearMessages();
  showToast(error instanceof ApiError ? error.message : text.common.failed);
}

export function Toasts() {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const dismiss = (id: number): void => setToasts((current) => current.filter((toast) => toast.id !== id));
  useEffect(() => {
    update = setToasts;
    return () => {
      update = () => undefined;
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
                dismiss(id);
                return action.run();
              }}
            >
              {action.label}
            </Button>
          )}
          <Button small icon="close" label={text.common.close} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}

/** A repeated message replaces the earlier one, unless it has a button. */
function isSame(old: Toast, toast: Toast): boolean {
  return old.action === null && toast.action === null && old.message === toast.message;
}
