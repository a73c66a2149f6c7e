import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

type ButtonProps = Omit<JSX.IntrinsicElements['button'], 'icon' | 'size'> & {
  kind?: 'primary' | 'quiet' | 'plain';
  danger?: boolean;
  small?: boolean;
  icon?: IconName;
  /** The accessible name and the tooltip of a button without children. */
  label?: string;
  children?: ComponentChildren;
  /** If it returns a promise, the button is busy until it settles. */
  onClick?: (event: MouseEvent) => unknown;
};

export function Button({
  kind = 'plain',
  danger,
  small,
  icon,
  label,
  children,
  onClick,
  disabled,
  ...rest
}: ButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const classes = ['button', kind, danger && 'danger', small && 'small', children === undefined && 'icon-only'];
  const press = async (event: MouseEvent): Promise<void> => {
    if (isBusy) return;
    const work = onClick?.(event);
    if (!(work instanceof Promise)) return;
    setBusy(true);
    try {
      await work;
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      class={classes.filter(Boolean).join(' ')}
      disabled={disabled}
      // Not `disabled`, which would drop the keyboard focus.
      aria-disabled={isBusy ? true : undefined}
      onClick={press}
      {...(label !== undefined && { 'aria-label': label, title: label })}
      {...rest}
    >
      {isBusy ? <span class="spinner" /> : icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}
