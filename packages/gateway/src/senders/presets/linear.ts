// Linear: changes of issues, comments, projects, and deadlines that were missed.
import type { JsonObject, Severity } from '@tocsin/contract';
import {
  excerptOf,
  membersOf,
  type Preset,
  type SenderEvent,
  type SignedRequest,
  textAt,
  textOf,
  urlOf,
} from '../event.ts';
import { hexHmacProblem } from '../signatures/hmac-hex.ts';
import { capitalize, keyOf, phrase, splitCamelCase, wordsOf } from '../text.ts';

/** Linear asks receivers to refuse requests that are older. */
const toleranceMs = 60_000;

const healths: Readonly<Record<string, { text: string; severity: Severity }>> = {
  onTrack: { text: 'on track', severity: 'info' },
  atRisk: { text: 'at risk', severity: 'warning' },
  offTrack: { text: 'off track', severity: 'warning' },
};

interface LinearEvent {
  type: string;
  action: string;
  payload: JsonObject;
  data: JsonObject;
  url: string | undefined;
}

export const linear: Preset = {
  name: 'linear',
  label: 'Linear',
  matches: ({ headers }) => headers['linear-event'] !== undefined,
  read({ body }) {
    const payload = membersOf(body.value);
    const type = textOf(payload.type);
    if (type === undefined) return null;
    const data = membersOf(payload.data);
    const event = { type, action: textOf(payload.action) ?? '', payload, data, url: urlOf(payload.url) };
    return { source: 'linear', severity: null, ...readByType(event) };
  },
  signatureProblem,
};

function signatureProblem({ request: { headers, body }, rawBody, secret, now }: SignedRequest): string | null {
  const problem = hexHmacProblem({
    header: 'Linear-Signature',
    signature: headers['linear-signature'],
    signed: rawBody,
    secret,
  });
  if (problem !== null) return problem;
  const sentAt = membersOf(body.value).webhookTimestamp;
  if (typeof sentAt !== 'number') return 'webhookTimestamp is missing';
  return Math.abs(now - sentAt) <= toleranceMs
    ? null
    : 'webhookTimestamp is more than 60 s away from the clock of this server';
}

function readByType(event: LinearEvent): SenderEvent {
  const { type, payload, data } = event;
  if (type === 'Issue') return readIssue(event);
  if (type === 'IssueSLA') return readDeadline(event, membersOf(payload.issueData));
  if (type === 'Comment' && data.issue !== undefined) return readComment(event, membersOf(data.issue));
  if (type === 'ProjectUpdate') return readProjectUpdate(event);
  return readOther(event);
}

function readIssue({ action, payload, data, url }: LinearEvent): SenderEvent {
  const isRemoved = action === 'remove';
  const hasMoved = membersOf(payload.updatedFrom).stateId !== undefined;
  const state = textAt(data, 'state', 'type');
  const happened = hasMoved ? textAt(data, 'state', 'name') : wordsOf(action);
  return {
    title: titleOf(data, happened),
    body: action === 'create' ? excerptOf(data.description) : byActor(payload),
    clickUrl: isRemoved ? undefined : url,
    threadKey: threadOf(data),
    resolved: isRemoved || (hasMoved && (state === 'completed' || state === 'canceled')),
  };
}

function readDeadline({ action, url }: LinearEvent, issue: JsonObject): SenderEvent {
  const words = wordsOf(splitCamelCase(action));
  return {
    title: titleOf(issue, `SLA ${words}`),
    severity: action === 'set' ? null : 'warning',
    clickUrl: url ?? urlOf(issue.url),
    threadKey: threadOf(issue),
  };
}

function readComment({ action, data, url }: LinearEvent, issue: JsonObject): SenderEvent {
  const author = textAt(data, 'user', 'name');
  const text = action === 'remove' ? undefined : excerptOf(data.body);
  return {
    title: titleOf(issue, action === 'create' ? 'new comment' : `comment ${wordsOf(action)}`),
    body: text === undefined || author === undefined ? text : `${author}: ${text}`,
    clickUrl: (action === 'remove' ? undefined : url) ?? urlOf(issue.url),
    threadKey: threadOf(issue),
  };
}

function readProjectUpdate({ action, data, url }: LinearEvent): SenderEvent {
  const name = textOf(data.health) ?? '';
  const health = Object.hasOwn(healths, name) ? healths[name] : undefined;
  return {
    title: phrase('Project', textAt(data, 'project', 'name'), health?.text ?? `update ${wordsOf(action)}`),
    body: excerptOf(data.body),
    severity: health?.severity ?? null,
    clickUrl: url,
  };
}

function readOther({ type, action, payload, data, url }: LinearEvent): SenderEvent {
  const kind = splitCamelCase(type);
  return {
    title: phrase(capitalize(kind), textOf(data.name) ?? textOf(data.title) ?? textOf(data.emoji), wordsOf(action)),
    body: excerptOf(data.body) ?? byActor(payload),
    clickUrl: action === 'remove' ? undefined : url,
  };
}

function titleOf(issue: JsonObject, happened: string | undefined): string {
  const what = phrase(textOf(issue.identifier), happened);
  const title = textOf(issue.title);
  return title === undefined ? what : `${what}: ${title}`;
}

function threadOf(issue: JsonObject): string | undefined {
  return keyOf('issue', textOf(issue.identifier) ?? textOf(issue.id));
}

function byActor(payload: JsonObject): string | undefined {
  const name = textAt(payload, 'actor', 'name');
  return name === undefined ? undefined : `by ${name}`;
}
