import type { Severity } from '@tocsin/contract/fields';
import { Icon, type IconName } from '../../components/icon.tsx';
import { text } from '../../text/index.ts';

const icons = { info: 'info', warning: 'warning', error: 'error', critical: 'critical' } as const satisfies Record<
  Severity,
  IconName
>;

/** Icon and text, so that the meaning does not depend on colour. */
export function SeverityBadge({ severity }: { severity: Severity }) {
  return (
    <span class={`badge ${severity}`}>
      <Icon name={icons[severity]} />
      {text.inbox.severity[severity]}
    </span>
  );
}

/** For rows: an icon, with the text for screen readers only. */
export function SeverityMark({ severity }: { severity: Severity | null }) {
  return (
    <span class={`inbox-mark ${severity ?? 'none'}`}>
      <Icon name={severity === null ? 'bell' : icons[severity]} />
      {severity !== null && <span class="visually-hidden">{text.inbox.severity[severity]}</span>}
    </span>
  );
}
