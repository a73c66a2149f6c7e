// Issues, incidents and merge requests, with their comments. Issues and merge requests have numbers of their own.
import type { JsonObject, Severity } from '@tocsin/contract';
import { excerptOf, membersOf, textOf, urlOf } from '../event.ts';
import type { Facts } from '../facts.ts';
import { severityOf } from '../severity.ts';
import { phrase, wordsOf } from '../text.ts';
import type { FactReader, ProjectEvent } from './event.ts';

const withText = new Set(['open', 'reopen', 'update']);

export const issueReaders: Readonly<Record<string, FactReader>> = {
  issue: readIssue,
  work_item: readIssue,
  merge_request(event) {
    const { item, action } = event;
    return { ...readItem(event, mergeRequestOf(item)), resolved: action === 'merge' || action === 'close' };
  },
  note(event) {
    const { item, actor } = event;
    const target = targetOf(event);
    const text = excerptOf(item.note);
    return {
      title: titleOf(event, target, item.action === 'update' ? 'comment updated' : 'new comment'),
      body: text === undefined || actor === undefined ? text : `${actor}: ${text}`,
      url: urlOf(item.url) ?? target.url,
      thread: target.thread,
    };
  },
  emoji(event) {
    const { item, action } = event;
    const target = targetOf(event);
    const happened = phrase('emoji', textOf(item.name), action === 'revoke' ? 'revoked' : undefined);
    return { title: titleOf(event, target, happened), url: target.url, thread: target.thread };
  },
};

interface Target {
  /** `issue #23`, `MR !7`. */
  name: string;
  title: string | undefined;
  url: string | undefined;
  thread: string | undefined;
}

function readIssue(event: ProjectEvent): Facts {
  const { item, action } = event;
  const isClosed = action === 'close';
  const isIncident = textOf(item.type)?.toLowerCase() === 'incident';
  return {
    ...readItem(event, issueOf(item)),
    severity: isIncident ? incidentSeverity(item, isClosed) : null,
    resolved: isClosed,
  };
}

/** An incident without a severity is an error. */
function incidentSeverity({ severity }: JsonObject, isClosed: boolean): Severity {
  return isClosed ? 'info' : (severityOf(severity) ?? 'error');
}

function readItem(event: ProjectEvent, target: Target): Facts {
  const { item, action } = event;
  return {
    title: titleOf(event, target, wordsOf(action)),
    body: withText.has(action) ? excerptOf(item.description) : undefined,
    url: target.url,
    thread: target.thread,
  };
}

function titleOf({ where }: ProjectEvent, { name, title }: Target, happened: string): string {
  const what = phrase(where, name, happened);
  return title === undefined ? what : `${what}: ${title}`;
}

function issueOf(item: JsonObject): Target {
  return numbered(item, textOf(item.type)?.toLowerCase() ?? 'issue', '#');
}

function mergeRequestOf(item: JsonObject): Target {
  return numbered(item, 'MR', '!');
}

function numbered(item: JsonObject, kind: string, sign: string): Target {
  const number = textOf(item.iid);
  const reference = number === undefined ? undefined : `${sign}${number}`;
  return { name: phrase(kind, reference), title: textOf(item.title), url: urlOf(item.url), thread: reference };
}

/** What a comment or an emoji belongs to. */
function targetOf({ payload }: ProjectEvent): Target {
  const { merge_request: mergeRequest, issue, commit, snippet } = payload;
  if (mergeRequest !== undefined) return mergeRequestOf(membersOf(mergeRequest));
  if (issue !== undefined) return issueOf(membersOf(issue));
  const other = membersOf(commit ?? snippet);
  const id = textOf(other.id)?.slice(0, 8);
  const kind = commit === undefined ? 'snippet' : 'commit';
  return { name: phrase(kind, id), title: textOf(other.title), url: urlOf(other.url), thread: undefined };
}
