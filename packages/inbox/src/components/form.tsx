import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

interface FormProps {
  class?: string;
  /** Label of the submit button. */
  submit: string;
  kind?: 'primary' | 'plain';
  disabled?: boolean;
  onSubmit: () => Promise<void>;
  children: ComponentChildren;
}

/** A form whose submit button is busy until `onSubmit` has settled. */
export function Form({
  class: className = 'stack',
  submit,
  kind = 'primary',
  disabled = false,
  onSubmit,
  children,
}: FormProps) {
  const [isBusy, setBusy] = useState(false);
  return (
    <form
      class={className}
      onSubmit={async (event) => {
        event.preventDefault();
        if (isBusy) return;
        setBusy(true);
        try {
          await onSubmit();
        } finally {
          setBusy(false);
        }
      }}
    >
      {children}
      <button type="submit" class={`button ${kind}`} disabled={disabled} aria-disabled={isBusy ? true : undefined}>
        {isBusy && <span class="spinner" />}
        {submit}
      </button>
    </form>
  );
}
