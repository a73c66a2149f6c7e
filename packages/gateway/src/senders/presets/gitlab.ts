// GitLab: projects, groups and the whole server send events.
import { type Preset, type SenderEvent, type SignedRequest, textOf } from '../event.ts';
import type { Facts } from '../facts.ts';
import { type ProjectEvent, projectEvent } from '../gitlab-events/event.ts';
import { issueReaders } from '../gitlab-events/issues.ts';
import { projectReaders, readNamedEvent } from '../gitlab-events/project.ts';
import { runReaders } from '../gitlab-events/runs.ts';
import { plainTokenProblem } from '../signatures/plain-token.ts';
import { standardWebhooksProblem } from '../signatures/standard-webhooks.ts';

const readers = { ...issueReaders, ...runReaders, ...projectReaders };

export const gitlab: Preset = {
  name: 'gitlab',
  label: 'GitLab',
  matches: ({ headers }) => headers['x-gitlab-event'] !== undefined,
  read({ body }) {
    const event = projectEvent(body.value);
    const facts = readFacts(event);
    return facts === null ? null : toSenderEvent(facts, event);
  },
  signatureProblem,
};

/** A signing token of GitLab begins with `whsec_`; the older secret token is sent as it is. */
function signatureProblem(signed: SignedRequest): string | null {
  const { request, secret } = signed;
  if (secret.startsWith('whsec_')) return standardWebhooksProblem(signed);
  return plainTokenProblem('X-Gitlab-Token', request.headers['x-gitlab-token'], secret);
}

function readFacts(event: ProjectEvent): Facts | null {
  const kind = textOf(event.payload.object_kind) ?? '';
  const reader = Object.hasOwn(readers, kind) ? readers[kind] : undefined;
  return reader === undefined ? readNamedEvent(event) : reader(event);
}

function toSenderEvent(facts: Facts, { path, home, actor }: ProjectEvent): SenderEvent {
  const { title, body, url, severity, thread, resolved } = facts;
  return {
    title,
    body: body ?? (actor === undefined ? undefined : `by ${actor}`),
    severity: severity ?? null,
    source: 'gitlab',
    clickUrl: url === null ? undefined : (url ?? home),
    threadKey: thread === undefined ? undefined : `${path}${thread}`.trim(),
    resolved: resolved === true,
  };
}
