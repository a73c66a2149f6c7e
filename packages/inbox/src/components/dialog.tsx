import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { text } from '../text/index.ts';
import { Button } from './button.tsx';

interface DialogProps {
  title: string;
  wide?: boolean;
  /** It stays whatever the browser does: onClose decides. */
  isSticky?: boolean;
  /** For Escape and the button in the corner. */
  onClose: () => void;
  children: ComponentChildren;
}

/** Shown as long as it is rendered. The browser keeps the focus inside; afterwards it goes back to where it was. */
export function Dialog({ title, wide = false, isSticky = false, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      // A browser gives it back only for a dialog that is still in the page.
      dialog?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={titleId}
      // A browser closes other dialogs at the second Escape in a row, whatever the page says.
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

/** Events of a dialog within this one come by here too. */
function isOwn({ target, currentTarget }: Event): boolean {
  return target instanceof Element && target.closest('dialog') === currentTarget;
}

/** Asks before something that cannot be undone. */
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

interface OnceDialogProps extends Omit<DialogProps, 'onClose' | 'isSticky'> {
  /** What is lost, as a question, and why that matters. */
  askTitle: string;
  ask: string;
  /** What ends it: the person has it. */
  done: string;
  onDone: () => void;
}

/** Shows a secret that cannot be shown again: only its own button ends it without a question. */
export function OnceDialog({ askTitle, ask, done, onDone, children, ...dialog }: OnceDialogProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <Dialog {...dialog} isSticky onClose={() => setAsking(true)}>
      {children}
      <div class="actions">
        <Button kind="primary" onClick={onDone}>
          {done}
        </Button>
      </div>
      {isAsking && (
        <ConfirmDialog
          title={askTitle}
          message={ask}
          action={text.common.close}
          onConfirm={async () => onDone()}
          onClose={() => setAsking(false)}
        />
      )}
    </Dialog>
  );
}
