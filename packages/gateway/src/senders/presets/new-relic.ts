import type { JsonObject } from '@tocsin/contract';
import { membersOf, type Preset, type SenderEvent, textOf, urlOf } from '../event.ts';
import { severityOf } from '../severity.ts';
import { capitalize, joinLines, keyOf } from '../text.ts';

const source = 'new-relic';

/**
 * https://docs.newrelic.com/docs/alerts/get-notified/notification-integrations/#webhook: issues of workflows, and the
 * incidents of the older notification channels.
 */
export const newRelic: Preset = {
  name: 'new-relic',
  label: 'New Relic',

  matches: ({ body }) => isIssue(membersOf(body.value)) || isIncident(membersOf(body.value)),

  read({ body }) {
    const members = membersOf(body.value);
    if (isIssue(members)) return readIssue(members);
    return isIncident(members) ? readIncident(members) : null;
  },
};

function isIssue({ issueUrl, state, title }: JsonObject): boolean {
  return issueUrl !== undefined && textOf(state) !== undefined && textOf(title) !== undefined;
}

function readIssue(issue: JsonObject): SenderEvent {
  const state = textOf(issue.state)?.toLowerCase() ?? '';
  const title = textOf(issue.title) ?? '';
  const isFiring = state === 'activated' || state === 'created';
  return {
    title: isFiring ? title : `${capitalize(state)}: ${title}`,
    body: joinLines(
      namesOf(issue.alertConditionNames),
      namesOf(issue.impactedEntities),
      namesOf(issue.alertPolicyNames),
    ),
    severity: isFiring ? (severityOf(issue.priority) ?? 'error') : 'info',
    source,
    clickUrl: urlOf(issue.issueUrl),
    threadKey: keyOf('issue', textOf(issue.id)),
    resolved: state === 'closed' || (isFiring ? false : undefined),
  };
}

function isIncident({ incident_id: id, current_state: state, condition_name: name }: JsonObject): boolean {
  return textOf(id) !== undefined && textOf(state) !== undefined && textOf(name) !== undefined;
}

function readIncident(incident: JsonObject): SenderEvent {
  const state = textOf(incident.current_state)?.toLowerCase() ?? '';
  const isFiring = state === 'open';
  const [target] = Array.isArray(incident.targets) ? incident.targets.map((each) => textOf(membersOf(each).name)) : [];
  return {
    title: `${isFiring ? 'Opened' : capitalize(state)}: ${textOf(incident.condition_name)}${target === undefined ? '' : ` (${target})`}`,
    body: joinLines(textOf(incident.details), textOf(incident.policy_name)),
    severity: isFiring ? (severityOf(incident.severity) ?? 'error') : 'info',
    source,
    // Not `incident_acknowledge_url`, which acknowledges the incident when it is opened.
    clickUrl: urlOf(incident.incident_url),
    threadKey: keyOf('incident', textOf(incident.incident_id)),
    resolved: state === 'closed' || (isFiring ? false : undefined),
  };
}

function namesOf(names: JsonObject[string] | undefined): string | undefined {
  return textOf(Array.isArray(names) ? names.map(textOf).join(', ') : names);
}
