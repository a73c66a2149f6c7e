// Pushes, releases, security, and what happens to projects, groups and users.
import { excerptOf, firstLineOf, itemsOf, membersOf, textAt, textOf, urlOf } from '../event.ts';
import type { Facts } from '../facts.ts';
import { severityOf } from '../severity.ts';
import { phrase, wordsOf } from '../text.ts';
import type { FactReader, ProjectEvent } from './event.ts';

const listedCommits = 5;

export const projectReaders: Readonly<Record<string, FactReader>> = {
  push: readPush,
  tag_push: readPush,
  wiki_page: ({ where, item, action }) => ({
    title: phrase(where, 'wiki page', textOf(item.title), wordsOf(action)),
    body: textOf(item.message),
    url: action === 'delete' ? undefined : urlOf(item.url),
  }),
  release({ where, payload, action }) {
    const tag = textOf(payload.tag);
    return {
      title: phrase(where, 'release', tag, wordsOf(action)),
      body: excerptOf(payload.description) ?? textOf(payload.name),
      url: action === 'delete' ? undefined : urlOf(payload.url),
      thread: tag === undefined ? undefined : ` release ${tag}`,
    };
  },
  milestone({ where, item, action }) {
    const number = textOf(item.iid);
    return {
      title: phrase(where, 'milestone', textOf(item.title), wordsOf(action)),
      body: excerptOf(item.description),
      thread: number === undefined ? undefined : ` milestone ${number}`,
      resolved: action === 'close',
    };
  },
  feature_flag: ({ where, item }) => ({
    title: phrase(where, 'feature flag', textOf(item.name), item.active === true ? 'turned on' : 'turned off'),
    body: textOf(item.description),
  }),
  access_token: ({ where, item, payload }) => ({
    title: phrase(where, 'access token', textOf(item.name), 'expires soon'),
    body: textOf(item.expires_at) ?? textOf(payload.event_name),
    severity: 'warning',
  }),
  vulnerability({ item }) {
    const url = urlOf(item.url);
    const state = textOf(item.state) ?? 'detected';
    const isOver = state === 'resolved' || state === 'dismissed';
    return {
      title: phrase('Vulnerability', `${state}:`, textOf(item.title)),
      body: textAt(item, 'location', 'file'),
      severity: isOver ? 'info' : (severityOf(item.severity) ?? 'error'),
      url: url ?? null,
      thread: url === undefined ? undefined : ` vulnerability ${url}`,
      resolved: isOver,
    };
  },
};

/** Events of groups and of the server, which have a name and no `object_kind`. */
export function readNamedEvent({ payload }: ProjectEvent): Facts | null {
  const name = firstLineOf(payload.event_name);
  if (name === undefined) return null;
  if (name === 'user_failed_login') {
    return { title: phrase('Failed sign-in of', textOf(payload.username)), severity: 'warning', url: null };
  }
  const group = textOf(payload.group_name) ?? textOf(payload.project_path_with_namespace);
  const member = textOf(payload.user_name) ?? textOf(payload.user_username);
  const membership = /^user_(\w+?)_(to|from|for)_(group|team)$/.exec(name);
  if (membership !== null) {
    const happened = membership[1] === 'add' ? 'added' : wordsOf(membership[1] ?? '');
    return { title: phrase(group, 'member', member, happened), body: accessOf(payload.group_access), url: null };
  }
  const subject = textOf(payload.path_with_namespace) ?? textOf(payload.full_path) ?? textOf(payload.name) ?? group;
  return { title: phrase('GitLab', wordsOf(name), subject), url: null };
}

function accessOf(value: ProjectEvent['payload'][string] | undefined): string | undefined {
  const access = textOf(value);
  return access === undefined ? undefined : `Access: ${access}`;
}

function readPush({ where, payload, actor }: ProjectEvent): Facts {
  const branch = textOf(payload.ref)?.replace(/^refs\/(heads|tags)\//, '');
  if (/^0+$/.test(textOf(payload.after) ?? '')) return { title: phrase(where, branch, 'deleted') };
  const commits = itemsOf(payload.commits);
  const messages = commits
    .slice(0, listedCommits)
    .map((commit) => firstLineOf(membersOf(commit).message))
    .filter((message) => message !== undefined);
  const count = Number(textOf(payload.total_commits_count) ?? commits.length);
  const counted = count > 0 ? `(${count} ${count === 1 ? 'commit' : 'commits'})` : undefined;
  return {
    title: phrase(where, branch, 'pushed', actor === undefined ? undefined : `by ${actor}`, counted),
    body: messages.length === 0 ? undefined : messages.join('\n'),
    url: urlOf(membersOf(commits.at(-1)).url),
  };
}
