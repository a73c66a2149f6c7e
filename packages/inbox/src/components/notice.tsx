import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';

interface NoticeProps {
  kind?: 'info' | 'warning' | 'error';
  children: ComponentChildren;
}

/** A highlighted message. Screen readers announce errors immediately. */
export function Notice({ kind = 'info', children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === 'error' ? 'alert' : 'note'}>
      <Icon name={kind === 'info' ? 'info' : 'warning'} />
      <div class="grow">{children}</div>
    </div>
  );
}
