import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface EmptyStateProps {
  icon: IconName;
  title: string;
  /** The heading level; 1 if this is the whole page. */
  level?: 1 | 2 | 3;
  children?: ComponentChildren;
}

export function EmptyState({ icon, title, level = 2, children }: EmptyStateProps) {
  const Heading = `h${level}` as const;
  return (
    <div class="empty">
      <Icon name={icon} />
      <Heading>{title}</Heading>
      {children}
    </div>
  );
}
