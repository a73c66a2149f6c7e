import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { text } from '../text/index.ts';
import { Button } from './button.tsx';

/** Shown as long as it is rendered. The browser keeps the focus inside; afterwards it goes back to where it was. */
export function Dialog(props: { title: string; wide?: boolean; onClose: () => void; children: ComponentChildren }) {
  const { title, wide = false, onClose, children } = props;
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
      onCancel={(event) => {
        event.preventDefault();
        onClose();
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
