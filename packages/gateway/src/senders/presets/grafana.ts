import type { JsonObject } from '@tocsin/contract';
import {
  type AlertGroup,
  alertGroupOf,
  firstUrl,
  linesOfGroup,
  severityOfGroup,
  statusOfGroup,
} from '../alert-group.ts';
import { membersOf, type Preset, type SenderEvent, textOf, urlOf } from '../event.ts';
import { grafanaSignatureProblem } from '../signatures/grafana.ts';
import { keyOf } from '../text.ts';

/**
 * https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
 * and the alerts of Grafana up to version 10, which have a rule instead of a group.
 */
export const grafana: Preset = {
  name: 'grafana',
  label: 'Grafana',

  matches: ({ body }) => {
    const members = membersOf(body.value);
    return members.orgId !== undefined && (alertGroupOf(members) !== null || isLegacy(members));
  },

  read({ body }) {
    const group = alertGroupOf(body.value);
    if (group !== null) return readGroup(group);
    const members = membersOf(body.value);
    return isLegacy(members) ? readLegacy(members) : null;
  },

  signatureProblem: grafanaSignatureProblem,
};

function readGroup(group: AlertGroup): SenderEvent {
  const { members, alerts } = group;
  const silenceUrl = group.isResolved ? undefined : firstUrl(alerts, ['silenceURL']);
  return {
    title: textOf(members.title) ?? `${statusOfGroup(group)} ${textOf(membersOf(members.groupLabels).alertname) ?? ''}`,
    body: textOf(members.message) ?? linesOfGroup(group),
    severity: severityOfGroup(group),
    source: 'grafana',
    clickUrl: firstUrl(alerts, ['panelURL', 'dashboardURL', 'generatorURL']),
    imageUrl: firstUrl(alerts, ['imageURL']),
    actions: silenceUrl === undefined ? undefined : [{ label: 'Silence', url: silenceUrl }],
    threadKey: group.key,
    resolved: group.isResolved,
  };
}

function isLegacy({ ruleId, ruleName, state }: JsonObject): boolean {
  return ruleId !== undefined && ruleName !== undefined && state !== undefined;
}

function readLegacy(members: JsonObject): SenderEvent {
  const isResolved = members.state === 'ok';
  const isFiring = members.state === 'alerting' || members.state === 'no_data';
  const rule = textOf(members.ruleId);
  return {
    title: textOf(members.title) ?? textOf(members.ruleName),
    body: textOf(members.message),
    severity: isFiring ? 'error' : isResolved ? 'info' : null,
    source: 'grafana',
    clickUrl: urlOf(members.ruleUrl),
    imageUrl: urlOf(members.imageUrl),
    threadKey: keyOf('rule', rule),
    resolved: isResolved || (isFiring ? false : undefined),
  };
}
