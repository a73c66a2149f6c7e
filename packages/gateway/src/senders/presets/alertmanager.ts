import {
  type AlertGroup,
  alertGroupOf,
  firstUrl,
  linesOfGroup,
  severityOfGroup,
  statusOfGroup,
} from '../alert-group.ts';
import { membersOf, type Preset, textOf, urlOf } from '../event.ts';

const shownNames = 3;

/** https://prometheus.io/docs/alerting/latest/configuration/#webhook_config */
export const alertmanager: Preset = {
  name: 'alertmanager',
  label: 'Alertmanager',

  matches: ({ body }) => alertGroupOf(body.value) !== null,

  read({ body }) {
    const group = alertGroupOf(body.value);
    if (group === null) return null;
    return {
      title: titleOf(group),
      body: linesOfGroup(group),
      severity: severityOfGroup(group),
      source: 'alertmanager',
      clickUrl: firstUrl(group.alerts, ['generatorURL']) ?? urlOf(group.members.externalURL),
      threadKey: group.key,
      resolved: group.isResolved,
    };
  },
};

/** `[FIRING:2] HighLatency (shop)`, with the labels that the group was made by. */
function titleOf(group: AlertGroup): string {
  const { alertname, ...others } = membersOf(group.members.groupLabels);
  const name = textOf(alertname) ?? namesOf(group);
  const labels = Object.values(others)
    .map(textOf)
    .filter((text) => text !== undefined);
  return [statusOfGroup(group), name, ...(labels.length > 0 ? [`(${labels.join(' ')})`] : [])].join(' ');
}

function namesOf({ alerts }: AlertGroup): string {
  const names = new Set(alerts.map((alert) => textOf(membersOf(alert.labels).alertname) ?? 'alert'));
  return [...names].slice(0, shownNames).join(', ') + (names.size > shownNames ? ', …' : '');
}
