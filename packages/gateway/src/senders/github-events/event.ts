// What the events of GitHub and of servers with the same events (Gitea, Forgejo) have in common.
import type { JsonObject, JsonValue } from '@tocsin/contract';
import { membersOf, type SenderEvent, textAt, textOf, urlOf } from '../event.ts';
import type { Facts } from '../facts.ts';

export interface RepositoryEvent {
  /** `issues`, `pull_request`, … */
  name: string;
  /** `opened`, `closed`, …; empty for events without one. */
  action: string;
  payload: JsonObject;
  /** The short name of the repository, or of the organization if there is no repository. */
  where: string;
  /** `owner/name`, or the organization. */
  fullName: string;
  /** The page of the repository. */
  home: string | undefined;
  /** Who did it. */
  actor: string | undefined;
}

export type FactReader = (event: RepositoryEvent) => Facts | null;

function repositoryEvent(name: string, value: JsonValue): RepositoryEvent {
  const payload = membersOf(value);
  const organization = textAt(payload, 'organization', 'login') ?? textAt(payload, 'organization', 'username');
  const fullName = textAt(payload, 'repository', 'full_name') ?? organization ?? '';
  return {
    name,
    action: textOf(payload.action) ?? '',
    payload,
    where: textAt(payload, 'repository', 'name') ?? organization ?? '',
    fullName,
    home: urlOf(membersOf(payload.repository).html_url),
    actor: personOf(payload.sender),
  };
}

export function personOf(value: JsonValue | undefined): string | undefined {
  return textAt(value, 'login') ?? textAt(value, 'username') ?? textAt(value, 'name');
}

/** null: no reader knows the event. */
export function readRepositoryEvent(
  readers: Readonly<Record<string, FactReader>>,
  name: string,
  value: JsonValue,
  source: string,
): SenderEvent | null {
  const event = repositoryEvent(name, value);
  const facts = Object.hasOwn(readers, name) ? readers[name]?.(event) : undefined;
  if (facts === undefined || facts === null) return null;
  return { ...toSenderEvent(facts, event, source), silent: !isSent(event, facts) };
}

function toSenderEvent(facts: Facts, { fullName, home, actor }: RepositoryEvent, source: string): SenderEvent {
  const { title, body, url, severity, thread, resolved } = facts;
  const clickUrl = url === null ? undefined : (url ?? home);
  return {
    title,
    body: body ?? (actor === undefined ? undefined : `by ${actor}`),
    severity: severity ?? null,
    source,
    clickUrl,
    threadKey: thread === undefined ? undefined : `${fullName}${thread}`.trim(),
    resolved: resolved === true,
  };
}

/** Events that are sent; the others are only stored, unless something is wrong. */
const sentEvents = /^(release|issues|pull_request|check_suite|action_run_recover|\w+_alert)$/;
/** Actions that happen often and need no attention. */
const quietActions =
  /^((un)?(labeled|locked|pinned)|label_(updated|cleared)|unassigned|(de)?milestoned|edited|synchronized?|(re)?requested|review_request_removed)$/;

function isSent({ name, action }: RepositoryEvent, { severity }: Facts): boolean {
  if (severity !== undefined && severity !== null && severity !== 'info') return true;
  return sentEvents.test(name) && !quietActions.test(action);
}
