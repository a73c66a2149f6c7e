import type { JsonObject, Severity } from '@tocsin/contract';
import { membersOf, type Preset, textOf, urlOf } from '../event.ts';
import { severityOf } from '../severity.ts';
import { keyOf } from '../text.ts';

interface Monitor {
  /** In lower case: `triggered`, `re-triggered`, `warn`, `no data`, `recovered`. */
  transition: string;
  /** `host:web1`, if the monitor has groups. */
  group: string;
  name: string;
}

/** https://docs.datadoghq.com/integrations/webhooks/: the default payload, and one with the variables of an alert. */
export const datadog: Preset = {
  name: 'datadog',
  label: 'Datadog',

  matches: ({ headers, body }) => {
    const members = membersOf(body.value);
    return (
      headers['user-agent']?.startsWith('Datadog') === true ||
      members.alert_transition !== undefined ||
      (textOf(members.event_type)?.endsWith('_monitor') === true && members.last_updated !== undefined)
    );
  },

  read({ body }) {
    const members = membersOf(body.value);
    const title = textOf(members.title) ?? textOf(members.alert_title);
    const monitor = monitorOf(title, textOf(members.alert_transition));
    if (title === undefined || monitor === null) return null;
    const isResolved = monitor.transition.includes('recovered');
    return {
      title,
      body: textOf(withoutMarkers(textOf(members.body) ?? textOf(members.text_only_msg) ?? '')),
      severity: severityOfMonitor(monitor, members),
      source: 'datadog',
      clickUrl: urlOf(members.link),
      threadKey:
        keyOf('cycle', textOf(members.alert_cycle_key)) ?? keyOf('monitor', `${monitor.name} {${monitor.group}}`),
      resolved: isResolved,
      // In other payloads, the operator may have chosen this name for another id.
      idempotencyKey: members.last_updated === undefined ? undefined : textOf(members.id),
    };
  },
};

/** Reads `[Triggered on {host:web1}] CPU is high`; null: the event is not of a monitor. */
function monitorOf(title: string | undefined, transition: string | undefined): Monitor | null {
  const pattern = /^(?:\[P\d\] )?\[([^\]{]+?)(?: on \{(.*)\})?\] (.+)$/;
  const [, inTitle, group = '', name] = pattern.exec(title ?? '') ?? [];
  const word = transition ?? inTitle;
  return word === undefined ? null : { transition: word.toLowerCase(), group, name: name ?? title ?? '' };
}

function severityOfMonitor({ transition }: Monitor, members: JsonObject): Severity {
  if (transition.includes('recovered')) return 'info';
  if (transition.includes('warn') || transition.includes('no data')) return 'warning';
  const priority = severityOf(members.priority) ?? severityOf(members.alert_priority);
  return priority === 'critical' ? priority : (severityOf(members.alert_type) ?? 'error');
}

/** `%%%` encloses Markdown, and `@webhook-name` is how the message got here. */
function withoutMarkers(text: string): string {
  return text.replaceAll(/^%%%$/gm, '').replaceAll(/@webhook-\S+/g, '');
}
