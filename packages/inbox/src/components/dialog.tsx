import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { text } from '../text/index.ts';
import { Button } from './button.tsx';

interface DialogProps {
  title: string;
  wide?: boolean;
  /** The dialog stays open until the parent removes it, even if the browser closes it. */
  isSticky?: boolean;
  /** Called for Escape and for the close button. */
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog that is open while it is rendered. The focus stays inside and returns to the opener afterwards. */
export function Dialog({ title, wide = false, isSticky = false, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      // Browsers restore the focus only while the dialog is still in the document.
      dialog?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={titleId}
      // Without this, browsers close the dialog on the second Escape in a row, even if the event is cancelled.
      {...(isSticky && { closedby: 'none' })}
      onKeyDown={(event) => {
        if (!isSticky || event.key !== 'Escape' || !isOwn(event)) return;
        event.preventDefault();
        onClose();
      }}
      onCancel={(event) => {
        if (!isOwn(event)) return;
        event.preventDefault();
        onClose();
      }}
      onClose={(event) => {
        if (!isOwn(event) || !event.currentTarget.isConnected) return;
        if (isSticky) event.currentTarget.showModal();
        else onClose();
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <Button kind="quiet" small icon="close" label={text.common.close} onClick={onClose} />
      </header>
      <div class="content">{children}</div>
    </dialog>
  );
}

/** Events of nested dialogs bubble up to this one. */
function isOwn({ target, currentTarget }: Event): boolean {
  return target instanceof Element && target.closest('dialog') === currentTarget;
}

/** Asks for confirmation of an action that cannot be undone. */
export function ConfirmDialog(props: {
  title: string;
  message: ComponentChildren;
  action: string;
  onConfirm: () => Promise<void>;
  onClose: () => void;
}) {
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p>{props.message}</p>
      <div class="actions">
        <Button onClick={props.onClose}>{text.common.cancel}</Button>
        <Button kind="primary" danger onClick={props.onConfirm}>
          {props.action}
        </Button>
      </div>
    </Dialog>
  );
}

interface ShowOnceDialogProps extends Omit<DialogProps, 'onClose' | 'isSticky'> {
  /** Title and text of the confirmation before the dialog is closed without `done`. */
  confirmTitle: string;
  confirm: string;
  /** Label of the button for users who have stored the secret. */
  done: string;
  onDone: () => void;
}

/** Shows a secret that cannot be shown again: closing it with anything but its own button needs a confirmation. */
export function ShowOnceDialog({ confirmTitle, confirm, done, onDone, children, ...dialog }: ShowOnceDialogProps) {
  const [isConfirming, setConfirming] = useState(false);
  return (
    <Dialog {...dialog} isSticky onClose={() => setConfirming(true)}>
      {children}
      <div class="actions">
        <Button kind="primary" onClick={onDone}>
          {done}
        </Button>
      </div>
      {isConfirming && (
        <ConfirmDialog
          title={confirmTitle}
          message={confirm}
          action={text.common.close}
          onConfirm={async () => onDone()}
          onClose={() => setConfirming(false)}
        />
      )}
    </Dialog>
  );
}
