// Bitbucket Cloud, and Bitbucket Data Center with other names for the same things.
import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { excerptOf, firstLineOf, itemsOf, membersOf, type Preset, textAt, textOf, urlOf, valueAt } from '../event.ts';
import { prefixedHmacProblem } from '../signatures/hmac-hex.ts';
import { keyOf, phrase, wordsOf } from '../text.ts';

const listedCommits = 5;

/** The part of the event key after the kind of thing → what happened, where its words say it badly. */
const happenings: Readonly<Record<string, string>> = {
  fulfilled: 'merged',
  rejected: 'declined',
  changes_request_created: 'changes requested',
  changes_request_removed: 'request for changes removed',
  from_ref_updated: 'updated',
  'reviewer:approved': 'approved',
  'reviewer:unapproved': 'approval removed',
  'reviewer:changes_requested': 'changes requested',
  'reviewer:needs_work': 'changes requested',
  'reviewer:updated': 'reviewers changed',
};
/** The end of a pull request. */
const endings = new Set(['merged', 'declined', 'deleted']);
/** States of an issue that is over. */
const endStates = new Set(['resolved', 'closed', 'invalid', 'duplicate', 'wontfix']);

const commitStates: Readonly<Record<string, { happened: string; severity: Severity | null }>> = {
  FAILED: { happened: 'failed', severity: 'error' },
  SUCCESSFUL: { happened: 'succeeded', severity: 'info' },
  INPROGRESS: { happened: 'in progress', severity: null },
  STOPPED: { happened: 'stopped', severity: 'info' },
};

interface BitbucketEvent {
  /** `pullrequest`, `pr`, `issue`, `repo`. */
  kind: string;
  /** What follows the kind in the event key. */
  action: string;
  payload: JsonObject;
  where: string;
  fullName: string;
  home: string | undefined;
  actor: string | undefined;
}

interface Facts {
  title: string;
  body?: string | undefined;
  severity?: Severity | null;
  url?: string | undefined;
  thread?: string | undefined;
  resolved?: boolean;
}

export const bitbucket: Preset = {
  name: 'bitbucket',
  label: 'Bitbucket',
  matches: ({ headers }) => headers['x-event-key'] !== undefined,
  read({ headers, body }) {
    const key = textOf(headers['x-event-key']) ?? textOf(membersOf(body.value).eventKey) ?? '';
    if (key === 'diagnostics:ping') return { title: 'Bitbucket ping', source: 'bitbucket', silent: true };
    const event = eventOf(key, body.value);
    const facts = readFacts(event);
    if (facts === null) return null;
    const { fullName, home, actor } = event;
    return {
      title: facts.title,
      body: facts.body ?? (actor === undefined ? undefined : `by ${actor}`),
      severity: facts.severity ?? null,
      source: 'bitbucket',
      clickUrl: facts.url ?? home,
      threadKey: facts.thread === undefined ? undefined : `${fullName} ${facts.thread}`,
      resolved: facts.resolved === true,
    };
  },
  signatureProblem: ({ request: { headers }, rawBody, secret }) =>
    prefixedHmacProblem({ header: 'X-Hub-Signature', signature: headers['x-hub-signature'], signed: rawBody, secret }),
};

function eventOf(key: string, value: JsonValue): BitbucketEvent {
  const payload = membersOf(value);
  const [kind = '', ...action] = key.split(':');
  const repository = membersOf(payload.repository ?? valueAt(payload.pullRequest, 'toRef', 'repository'));
  const name = textOf(repository.name) ?? textOf(repository.slug) ?? '';
  const project = textAt(repository, 'project', 'key');
  return {
    kind,
    action: action.join(':'),
    payload,
    where: name,
    fullName: textOf(repository.full_name) ?? (project === undefined ? name : `${project}/${name}`),
    home: pageOf(repository),
    actor: textAt(payload, 'actor', 'display_name') ?? textAt(payload, 'actor', 'displayName'),
  };
}

function readFacts(event: BitbucketEvent): Facts | null {
  const { kind, action, payload, where } = event;
  if (kind === 'pullrequest') return readPullRequest(event, membersOf(payload.pullrequest));
  if (kind === 'pr') return readPullRequest(event, membersOf(payload.pullRequest));
  if (kind === 'issue') return readIssue(event);
  if (where === '') return null;
  if (action === 'push') return readPush(event);
  if (action === 'refs_changed') return readRefs(event);
  if (action.startsWith('commit_status_')) return readCommitStatus(event);
  if (/comment/.test(action)) return readComment(event, phrase(where, 'commit'), undefined);
  return { title: phrase(where, kind, wordsOf(action.replaceAll(':', ' '))) };
}

function readPullRequest(event: BitbucketEvent, pullRequest: JsonObject): Facts {
  const { where, action } = event;
  const id = textOf(pullRequest.id);
  const title = textOf(pullRequest.title);
  const name = phrase(where, 'PR', id === undefined ? undefined : `#${id}`);
  const about = { url: pageOf(pullRequest), thread: keyOf('PR', id) };
  if (/comment/.test(action)) return { ...about, ...readComment(event, name, title), thread: about.thread };
  const happened = Object.hasOwn(happenings, action) ? (happenings[action] ?? '') : wordsOf(action);
  const text = action === 'created' || action === 'opened' ? excerptOf(pullRequest.description) : undefined;
  return { ...about, title: titled(phrase(name, happened), title), body: text, resolved: endings.has(happened) };
}

function readIssue(event: BitbucketEvent): Facts {
  const { where, action, payload } = event;
  const issue = membersOf(payload.issue);
  const id = textOf(issue.id);
  const title = textOf(issue.title);
  const name = phrase(where, 'issue', id === undefined ? undefined : `#${id}`);
  const about = { url: pageOf(issue), thread: keyOf('issue', id) };
  if (action.startsWith('comment')) return { ...about, ...readComment(event, name, title), thread: about.thread };
  const state = textAt(payload, 'changes', 'status', 'new');
  const text = action === 'created' ? excerptOf(valueAt(issue, 'content', 'raw')) : undefined;
  return {
    ...about,
    title: titled(phrase(name, state ?? wordsOf(action)), title),
    body: text,
    resolved: state !== undefined && endStates.has(state),
  };
}

function readComment({ action, payload, actor }: BitbucketEvent, name: string, title: string | undefined): Facts {
  const comment = membersOf(payload.comment);
  const text = excerptOf(valueAt(comment, 'content', 'raw')) ?? excerptOf(comment.text);
  const happened = /(created|added)$/.test(action) ? 'new comment' : wordsOf(action.replaceAll(':', ' '));
  const url = pageOf(comment);
  return {
    title: titled(phrase(name, happened), title),
    body: text === undefined || actor === undefined ? text : `${actor}: ${text}`,
    ...(url !== undefined && { url }),
  };
}

function readCommitStatus({ where, payload }: BitbucketEvent): Facts {
  const status = membersOf(payload.commit_status);
  const state = textOf(status.state) ?? '';
  const known = Object.hasOwn(commitStates, state) ? commitStates[state] : undefined;
  const hash = textAt(status, 'commit', 'hash');
  const key = textOf(status.key);
  return {
    title: phrase(where, textOf(status.name) ?? key, known?.happened ?? wordsOf(state.toLowerCase())),
    body: textOf(status.description),
    severity: known?.severity ?? null,
    url: urlOf(status.url),
    thread: keyOf('status', hash === undefined ? undefined : phrase(hash, key)),
    resolved: state === 'SUCCESSFUL',
  };
}

function readPush({ where, payload, actor }: BitbucketEvent): Facts {
  const changes = itemsOf(valueAt(payload.push, 'changes'));
  const change = membersOf(changes[0]);
  const after = membersOf(change.new);
  const branch = textOf(after.name);
  const more = changes.length > 1 ? `and ${changes.length - 1} more` : undefined;
  if (branch === undefined) return { title: phrase(where, textAt(change, 'old', 'name'), more, 'deleted') };
  const messages = itemsOf(change.commits)
    .slice(0, listedCommits)
    .map((commit) => firstLineOf(membersOf(commit).message))
    .filter((message) => message !== undefined);
  return {
    title: phrase(where, branch, more, 'pushed', actor === undefined ? undefined : `by ${actor}`),
    body: messages.length === 0 ? undefined : messages.join('\n'),
    url: pageOf(change) ?? pageOf(after),
  };
}

/** The push event of Data Center. */
function readRefs({ where, payload, actor }: BitbucketEvent): Facts {
  const changes = itemsOf(payload.changes);
  const change = membersOf(changes[0]);
  const more = changes.length > 1 ? `and ${changes.length - 1} more` : undefined;
  const happened = change.type === 'DELETE' ? 'deleted' : 'pushed';
  const by = actor === undefined ? undefined : `by ${actor}`;
  return { title: phrase(where, textAt(change, 'ref', 'displayId'), more, happened, by) };
}

function titled(what: string, title: string | undefined): string {
  return title === undefined ? what : `${what}: ${title}`;
}

/** Cloud has `html`, Data Center a list of `self`; `self` of Cloud is an address of the API. */
function pageOf(value: JsonValue): string | undefined {
  const links = membersOf(membersOf(value).links);
  return urlOf(membersOf(links.html).href) ?? urlOf(membersOf(itemsOf(links.self)[0]).href);
}
