import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { idOfBody } from '../body-id.ts';
import { type IgnoredEvent, ignore, membersOf, type Preset, type SenderEvent, textOf, urlOf } from '../event.ts';
import { severityOf } from '../severity.ts';
import { hexHmacProblem } from '../signatures/hmac-hex.ts';
import { capitalize, joinLines, keyOf } from '../text.ts';

const source = 'pagerduty';
const shownDetails = 8;

/** The past tense of what an event of the Events API asks for. */
const eventActions: Readonly<Record<string, string>> = {
  trigger: 'Triggered',
  acknowledge: 'Acknowledged',
  resolve: 'Resolved',
};

/**
 * Programs that send to the Events API v2 (https://developer.pagerduty.com/docs/send-alert-event), and the webhooks v3 of
 * PagerDuty itself (https://developer.pagerduty.com/docs/webhooks-overview).
 */
export const pagerduty: Preset = {
  name: 'pagerduty',
  label: 'PagerDuty',

  matches: ({ headers, body }) =>
    headers['x-pagerduty-signature'] !== undefined ||
    isApiEvent(membersOf(body.value)) ||
    isWebhook(membersOf(body.value)),

  read({ body }) {
    const members = membersOf(body.value);
    if (isApiEvent(members)) return readApiEvent(members);
    return isWebhook(members) ? readWebhook(membersOf(members.event)) : null;
  },

  /** One of several signatures is enough: PagerDuty signs with the old and the new secret while it rotates them. */
  signatureProblem({ request, rawBody, secret }) {
    const header = 'x-pagerduty-signature';
    const signatures = (request.headers[header] ?? '')
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry.startsWith('v1='))
      .map((entry) => entry.slice('v1='.length));
    if (signatures.length === 0) return `the header ${header} has no signature that begins with v1=`;
    const problems = signatures.map((signature) => hexHmacProblem({ header, signature, signed: rawBody, secret }));
    return problems.includes(null) ? null : (problems[0] ?? null);
  },

  /** Clients of the Events API take any other status than 202 for a failure, and use the key to resolve the alert. */
  respond({ body }) {
    const members = membersOf(body.value);
    if (!isApiEvent(members)) return undefined;
    const key = textOf(members.dedup_key) ?? idOfBody(body);
    return {
      status: 202,
      contentType: 'application/json',
      body: JSON.stringify({ status: 'success', message: 'Event processed', dedup_key: key }),
    };
  },
};

function isApiEvent({ event_action: action, routing_key: routingKey, dedup_key: key, payload }: JsonObject): boolean {
  return (
    typeof action === 'string' &&
    Object.hasOwn(eventActions, action) &&
    (routingKey !== undefined || key !== undefined || payload !== undefined)
  );
}

function readApiEvent(members: JsonObject): SenderEvent | null {
  const action = textOf(members.event_action) ?? '';
  const payload = membersOf(members.payload);
  const key = textOf(members.dedup_key);
  const subject = textOf(payload.summary) ?? key;
  if (subject === undefined) return null;
  const isFiring = action === 'trigger';
  return {
    title: isFiring ? subject : withAction(eventActions[action] ?? action, subject),
    body: joinLines(
      [payload.source, payload.component, payload.group]
        .map(textOf)
        .filter((text) => text !== undefined)
        .join(' · ') || undefined,
      ...detailsOf(payload.custom_details),
    ),
    severity: isFiring ? (severityOf(payload.severity) ?? 'error') : 'info',
    source,
    clickUrl: urlOf(members.client_url) ?? firstLink(members.links),
    threadKey: keyOf('alert', key),
    resolved: action === 'resolve' || (isFiring ? false : undefined),
  };
}

/** Some clients, such as Alertmanager, say in the summary that the alert is resolved. */
function withAction(action: string, subject: string): string {
  return new RegExp(`\\b${action}\\b`, 'i').test(subject) ? subject : `${action}: ${subject}`;
}

function detailsOf(details: JsonValue | undefined): string[] {
  if (typeof details === 'string') return [details];
  return Object.entries(membersOf(details))
    .map(([name, value]) => [name, textOf(value)] as const)
    .filter(([, text]) => text !== undefined)
    .slice(0, shownDetails)
    .map(([name, text]) => `${name}: ${text}`);
}

function firstLink(links: JsonValue | undefined): string | undefined {
  return Array.isArray(links)
    ? links.map((link) => urlOf(membersOf(link).href)).find((url) => url !== undefined)
    : undefined;
}

function isWebhook(members: JsonObject): boolean {
  const event = membersOf(members.event);
  return (
    textOf(event.event_type) !== undefined && textOf(event.resource_type) !== undefined && event.data !== undefined
  );
}

/** Events after which an incident needs attention. */
const firingEvents: ReadonlySet<string> = new Set([
  'triggered',
  'escalated',
  'reopened',
  'unacknowledged',
  'delegated',
]);
const quietEvents: ReadonlySet<string> = new Set(['acknowledged', 'resolved']);

function readWebhook(event: JsonObject): SenderEvent | IgnoredEvent | null {
  const type = textOf(event.event_type) ?? '';
  if (type === 'pagey.ping') return ignore('ping');
  if (!type.startsWith('incident.')) return null;
  const data = membersOf(event.data);
  // Notes and updates are things of their own that name their incident.
  const incident = data.type === 'incident' ? data : membersOf(data.incident);
  const title = textOf(incident.title) ?? textOf(incident.summary);
  if (title === undefined) return null;
  const action = type.slice('incident.'.length);
  return {
    title: `${capitalize(action.replaceAll(/[._]/g, ' '))}: ${title}`,
    body: joinLines(
      textOf(data.content) ?? textOf(data.message),
      textOf(membersOf(incident.service).summary),
      textOf(membersOf(event.agent).summary),
    ),
    severity: severityOfIncident(incident, action),
    source,
    clickUrl: urlOf(incident.html_url),
    threadKey: keyOf('incident', textOf(incident.id)),
    resolved: action === 'resolved' || (firingEvents.has(action) ? false : undefined),
    idempotencyKey: textOf(event.id),
  };
}

function severityOfIncident(incident: JsonObject, action: string): Severity | null {
  if (quietEvents.has(action)) return 'info';
  if (!firingEvents.has(action)) return null;
  return severityOf(membersOf(incident.priority).summary) ?? severityOf(incident.urgency) ?? 'error';
}
