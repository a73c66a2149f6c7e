import type { JsonObject } from '@tocsin/contract';
import { idOfBody } from '../body-id.ts';
import { membersOf, type Preset, type SenderEvent, type SenderRequest, textOf, urlOf } from '../event.ts';
import { severityOf } from '../severity.ts';
import { capitalize, joinLines, keyOf } from '../text.ts';

const source = 'opsgenie';
/** Opsgenie gives an alert without a priority P3. */
const defaultSeverity = 'warning';

/** Actions of the API and of webhooks, in lower case. */
const pastTense: ReadonlyMap<string, string> = new Map([
  ['close', 'Closed'],
  ['acknowledge', 'Acknowledged'],
  ['unacknowledge', 'Unacknowledged'],
  ['snooze', 'Snoozed'],
  ['escalate', 'Escalated'],
  ['assign', 'Assigned'],
  ['notes', 'Note added'],
  ['addnote', 'Note added'],
]);

/**
 * Programs that send to the Alert API (https://docs.opsgenie.com/docs/alert-api), and the webhooks of Opsgenie itself
 * (https://support.atlassian.com/opsgenie/docs/opsgenie-edge-connector-alert-action-data/).
 */
export const opsgenie: Preset = {
  name: 'opsgenie',
  label: 'Opsgenie',

  matches: (request) => apiRequestOf(request) !== null || isWebhook(membersOf(request.body.value)),

  read(request) {
    const members = membersOf(request.body.value);
    const sent = apiRequestOf(request);
    if (sent === null) return isWebhook(members) ? readWebhook(members) : null;
    return sent.action === null ? readCreated(members) : readAction(members, sent.identifier, sent.action);
  },

  /** Clients of the API expect 202, and decode these fields. */
  respond(request) {
    if (apiRequestOf(request) === null) return undefined;
    return {
      status: 202,
      contentType: 'application/json',
      body: JSON.stringify({ result: 'Request will be processed', took: 0, requestId: idOfBody(request.body) }),
    };
  },
};

/** A request that creates an alert, or one that changes the alert with an alias or id. */
type ApiRequest = { action: null } | { action: string; identifier: string };

/** Reads `v2/alerts` and `v2/alerts/<alias or id>/<action>`; null: the request is not for the Alert API. */
function apiRequestOf({ path, body }: SenderRequest): ApiRequest | null {
  const isCreation = /^v2\/alerts\/?$/.test(path) && textOf(membersOf(body.value).message) !== undefined;
  if (isCreation) return { action: null };
  const [, identifier, action] = /^v2\/alerts\/([^/]+)\/(\w+)\/?$/.exec(path) ?? [];
  return identifier === undefined || action === undefined ? null : { action, identifier: decoded(identifier) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readCreated(alert: JsonObject): SenderEvent {
  return {
    title: textOf(alert.message),
    body: joinLines(textOf(alert.description), textOf(alert.entity)),
    // Alertmanager has no priority by default, and sends the labels of the alert as details.
    severity: severityOf(alert.priority) ?? severityOf(membersOf(alert.details).severity) ?? defaultSeverity,
    source,
    clickUrl: urlOf(alert.source),
    threadKey: keyOf('alert', textOf(alert.alias)),
    resolved: false,
  };
}

/** The request names the alert by its alias, and has nothing else that describes it. */
function readAction(members: JsonObject, identifier: string, action: string): SenderEvent {
  const known = pastTense.get(action.toLowerCase());
  return {
    title: `${known ?? `Changed ${action}`}: ${textOf(members.message) ?? shortened(identifier)}`,
    body: joinLines(textOf(members.note), textOf(members.description), textOf(members.user)),
    severity: severityOfAction(action),
    source,
    clickUrl: urlOf(members.source),
    threadKey: keyOf('alert', identifier),
    resolved: action === 'close' ? true : undefined,
    // Alertmanager changes message and description of an alert right after it creates it.
    silent: known === undefined ? true : undefined,
  };
}

function severityOfAction(action: string): 'info' | null {
  return action === 'close' || action === 'acknowledge' ? 'info' : null;
}

/** Alertmanager has a digest as alias. */
function shortened(identifier: string): string {
  return /^[0-9a-f]{32,}$/.test(identifier) ? `alert ${identifier.slice(0, 8)}` : identifier;
}

function isWebhook({ action, alert }: JsonObject): boolean {
  const { alertId, message } = membersOf(alert);
  return textOf(action) !== undefined && alertId !== undefined && message !== undefined;
}

function readWebhook(members: JsonObject): SenderEvent {
  const alert = membersOf(members.alert);
  const action = textOf(members.action)?.toLowerCase() ?? '';
  const message = textOf(alert.message) ?? 'Alert';
  const isCreated = action === 'create';
  return {
    title: isCreated ? message : `${pastTense.get(action) ?? capitalize(action)}: ${message}`,
    body: joinLines(textOf(alert.description), textOf(alert.note), textOf(alert.entity)),
    severity: isCreated ? (severityOf(alert.priority) ?? defaultSeverity) : severityOfAction(action),
    source,
    threadKey: keyOf('alert', textOf(alert.alias) ?? textOf(alert.alertId)),
    resolved: action === 'close' || (isCreated ? false : undefined),
  };
}
