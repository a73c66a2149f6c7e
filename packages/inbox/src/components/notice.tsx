import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';

interface NoticeProps {
  kind?: 'info' | 'warning' | 'error';
  children: ComponentChildren;
}

/** What people should know before they go on. Errors are said at once by screen readers. */
export function Notice({ kind = 'info', children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === 'error' ? 'alert' : 'note'}>
      <Icon name={kind === 'info' ? 'info' : 'warning'} />
      <div class="grow">{children}</div>
    </div>
  );
}
