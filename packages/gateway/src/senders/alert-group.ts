// Groups of alerts as Alertmanager sends them. Grafana sends the same with fields of its own.
import { type JsonObject, type JsonValue, type Severity, severities } from '@tocsin/contract';
import { membersOf, textOf, urlOf } from './event.ts';
import { severityOf } from './severity.ts';

export interface AlertGroup {
  members: JsonObject;
  /** Firing ones first. */
  alerts: readonly JsonObject[];
  isResolved: boolean;
  key: string;
}

const shownAlerts = 10;
const severityNames = ['severity', 'priority', 'level'];
const summaryNames = ['summary', 'description', 'message', 'Error'];

/** null: the value is not a group of alerts. */
export function alertGroupOf(value: JsonValue): AlertGroup | null {
  const members = membersOf(value);
  const key = textOf(members.groupKey);
  if (key === undefined || !Array.isArray(members.alerts)) return null;
  const alerts = members.alerts.map(membersOf);
  return {
    members,
    alerts: [...alerts.filter((alert) => !isResolved(alert)), ...alerts.filter(isResolved)],
    isResolved: isResolved(members),
    key,
  };
}

/** The worst severity of the alerts that fire. An alert without a severity is an error. */
export function severityOfGroup(group: AlertGroup): Severity {
  if (group.isResolved) return 'info';
  const found = group.alerts.filter((alert) => !isResolved(alert)).map(severityOfAlert);
  return severities.findLast((severity) => found.includes(severity)) ?? 'error';
}

/** `[FIRING:2]` or `[RESOLVED]`. */
export function statusOfGroup(group: AlertGroup): string {
  if (group.isResolved) return '[RESOLVED]';
  const firing = group.alerts.filter((alert) => !isResolved(alert)).length;
  return `[FIRING:${firing + truncatedAlerts(group)}]`;
}

/** One line for each alert. */
export function linesOfGroup(group: AlertGroup): string {
  const shown = group.alerts.slice(0, shownAlerts).map((alert) => {
    const line = lineOfAlert(alert);
    return isResolved(alert) && !group.isResolved ? `Resolved: ${line}` : line;
  });
  const more = group.alerts.length - shown.length + truncatedAlerts(group);
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

/** The first address under one of these names, by name before alert. */
export function firstUrl(alerts: readonly JsonObject[], names: readonly string[]): string | undefined {
  return names.flatMap((name) => alerts.map((alert) => urlOf(alert[name]))).find((url) => url !== undefined);
}

function isResolved({ status }: JsonObject): boolean {
  return status === 'resolved';
}

/** Alerts that the sender left out of the request. */
function truncatedAlerts({ members: { truncatedAlerts } }: AlertGroup): number {
  return typeof truncatedAlerts === 'number' && truncatedAlerts > 0 ? Math.floor(truncatedAlerts) : 0;
}

function severityOfAlert(alert: JsonObject): Severity {
  const labels = membersOf(alert.labels);
  const word = severityNames.map((name) => textOf(labels[name])?.toLowerCase()).find((text) => text !== undefined);
  // `page` and `none` are words of the Prometheus community, the latter for alerts that always fire.
  if (word === 'page') return 'critical';
  if (word === 'none') return 'info';
  return severityOf(word) ?? 'error';
}

function lineOfAlert(alert: JsonObject): string {
  const annotations = membersOf(alert.annotations);
  const summary = summaryNames.map((name) => textOf(annotations[name])).find((text) => text !== undefined);
  if (summary !== undefined) return summary;
  const labels = membersOf(alert.labels);
  return [labels.alertname, labels.instance]
    .map(textOf)
    .filter((text) => text !== undefined)
    .join(' ');
}
