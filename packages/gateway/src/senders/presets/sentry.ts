import type { JsonObject, Severity } from '@tocsin/contract';
import { membersOf, type Preset, type SenderEvent, textOf, urlOf } from '../event.ts';
import { severityOf } from '../severity.ts';
import { hexHmacProblem } from '../signatures/hmac-hex.ts';
import { capitalize, joinLines, keyOf } from '../text.ts';

const source = 'sentry';

/** https://docs.sentry.io/organization/integrations/integration-platform/webhooks/ and the older webhooks plugin. */
export const sentry: Preset = {
  name: 'sentry',
  label: 'Sentry',

  matches: ({ headers, body }) => headers['sentry-hook-resource'] !== undefined || isPlugin(membersOf(body.value)),

  read({ headers, body }) {
    const members = membersOf(body.value);
    const data = membersOf(members.data);
    const action = textOf(members.action) ?? '';
    switch (headers['sentry-hook-resource']) {
      case 'event_alert':
        return readError(membersOf(data.event), textOf(data.triggered_rule));
      case 'error':
        return readError(membersOf(data.error), undefined);
      case 'issue':
        return readIssue(membersOf(data.issue), action);
      case 'metric_alert':
        return readMetricAlert(data, action);
      case 'comment':
        return readComment(data, action);
      default:
        return isPlugin(members) ? readPlugin(members) : null;
    }
  },

  /** The time in `Sentry-Hook-Timestamp` is not signed, so there is no tolerance to check. */
  signatureProblem({ request, rawBody, secret }) {
    const header = 'sentry-hook-signature';
    return hexHmacProblem({ header, signature: request.headers[header]?.trim(), signed: rawBody, secret });
  },
};

function readError(event: JsonObject, rule: string | undefined): SenderEvent | null {
  const title = textOf(event.title);
  if (title === undefined) return null;
  return {
    title,
    body: joinLines(textOf(event.culprit), rule === undefined ? undefined : `Alert: ${rule}`),
    severity: levelOf(event),
    source,
    clickUrl: urlOf(event.web_url),
    threadKey: keyOf('issue', textOf(event.issue_id)),
    resolved: false,
  };
}

/** Actions that say that an issue is a problem. All others, such as `assigned`, only change it. */
const firingActions: ReadonlySet<string> = new Set(['created', 'unresolved']);

function readIssue(issue: JsonObject, action: string): SenderEvent | null {
  const title = textOf(issue.title);
  if (title === undefined || action === '') return null;
  const isResolved = action === 'resolved';
  const isFiring = firingActions.has(action);
  return {
    title: action === 'created' ? title : `${capitalize(action)}: ${title}`,
    body: joinLines(textOf(issue.culprit), textOf(membersOf(issue.project).name)),
    severity: isResolved ? 'info' : isFiring ? levelOf(issue) : null,
    source,
    clickUrl: urlOf(issue.web_url) ?? urlOf(issue.permalink),
    threadKey: keyOf('issue', textOf(issue.id)),
    resolved: isResolved || (isFiring ? false : undefined),
  };
}

function readMetricAlert(data: JsonObject, action: string): SenderEvent | null {
  const alert = membersOf(data.metric_alert);
  const name = textOf(alert.title) ?? textOf(membersOf(alert.alert_rule).name);
  const title = textOf(data.description_title) ?? (name === undefined ? undefined : `${capitalize(action)}: ${name}`);
  if (title === undefined) return null;
  return {
    title,
    body: textOf(data.description_text),
    severity: severityOf(action) ?? 'error',
    source,
    clickUrl: urlOf(data.web_url),
    threadKey: keyOf('metric alert', textOf(alert.id)),
    resolved: action === 'resolved',
  };
}

function readComment(data: JsonObject, action: string): SenderEvent {
  return {
    title: `Comment ${action} in ${textOf(data.project_slug) ?? 'a project'}`,
    body: textOf(data.comment),
    severity: null,
    source,
    threadKey: keyOf('issue', textOf(data.issue_id)),
  };
}

function isPlugin({ triggering_rules: rules, culprit, event }: JsonObject): boolean {
  return Array.isArray(rules) && culprit !== undefined && event !== undefined;
}

function readPlugin(members: JsonObject): SenderEvent {
  return {
    title: textOf(membersOf(members.event).title) ?? textOf(members.message),
    body: joinLines(textOf(members.culprit), textOf(members.project_name)),
    severity: levelOf(members),
    source,
    clickUrl: urlOf(members.url),
    threadKey: keyOf('issue', textOf(members.id)),
    resolved: false,
  };
}

function levelOf({ level }: JsonObject): Severity {
  return severityOf(level) ?? 'error';
}
