// Issues, pull requests and discussions, with their comments and reviews. They share one sequence of numbers.
import type { JsonValue } from '@tocsin/contract';
import { excerptOf, membersOf, textAt, textOf, urlOf } from '../event.ts';
import type { Facts } from '../facts.ts';
import { phrase, wordsOf } from '../text.ts';
import { type FactReader, personOf, type RepositoryEvent } from './event.ts';

const actions: Readonly<Record<string, string>> = {
  synchronize: 'updated',
  synchronized: 'updated',
  label_updated: 'labels updated',
  label_cleared: 'labels cleared',
};
/** The end of a thread. */
const endings = new Set(['closed', 'deleted']);
/** Actions for which the text of the issue is news. */
const withText = new Set(['opened', 'created', 'edited', 'reopened', 'ready_for_review']);

interface Item {
  /** `issue #17`, `PR #18`. */
  name: string;
  title: string | undefined;
  url: string | undefined;
  text: string | undefined;
  thread: string | undefined;
}

export const issueReaders: Readonly<Record<string, FactReader>> = {
  issues: (event) => readItem(event, itemOf(event.payload.issue, 'issue')),
  pull_request: (event) => readItem(event, itemOf(event.payload.pull_request, 'PR')),
  discussion: (event) => readItem(event, itemOf(event.payload.discussion, 'discussion')),
  issue_comment: (event) => readComment(event, itemOf(event.payload.issue ?? event.payload.pull_request, 'issue')),
  discussion_comment: (event) => readComment(event, itemOf(event.payload.discussion, 'discussion')),
  pull_request_review_comment: (event) => readComment(event, itemOf(event.payload.pull_request, 'PR')),
  pull_request_review: readReview,
  pull_request_review_thread(event) {
    const item = itemOf(event.payload.pull_request, 'PR');
    return about(event, item, `conversation ${wordsOf(event.action)}`);
  },
};

function itemOf(value: JsonValue | undefined, kind: string): Item {
  const members = membersOf(value);
  const number = textOf(members.number);
  const isPullRequest = Object.keys(membersOf(members.pull_request)).length > 0;
  return {
    name: phrase(isPullRequest ? 'PR' : kind, number === undefined ? undefined : `#${number}`),
    title: textOf(members.title),
    url: urlOf(members.html_url),
    text: excerptOf(members.body),
    thread: number === undefined ? undefined : `#${number}`,
  };
}

function about({ where }: RepositoryEvent, item: Item, happened: string): Facts {
  const what = phrase(where, item.name, happened);
  const title = item.title === undefined ? what : `${what}: ${item.title}`;
  return { title, url: item.url, thread: item.thread };
}

function readItem(event: RepositoryEvent, item: Item): Facts {
  const { action, payload } = event;
  const isMerged = action === 'closed' && membersOf(payload.pull_request).merged === true;
  const happened = isMerged ? 'merged' : phrase(actions[action] ?? wordsOf(action), objectOf(event));
  return {
    ...about(event, item, happened),
    body: withText.has(action) ? item.text : undefined,
    // The page of what was deleted no longer exists.
    url: action === 'deleted' ? undefined : item.url,
    resolved: endings.has(action),
  };
}

/** Which label, or which person. */
function objectOf({ action, payload }: RepositoryEvent): string | undefined {
  if (action.endsWith('labeled')) return textAt(payload, 'label', 'name');
  if (action === 'assigned') return prefixed('to', personOf(payload.assignee));
  if (action === 'review_requested') return prefixed('from', personOf(payload.requested_reviewer));
  return undefined;
}

function prefixed(word: string, name: string | undefined): string | undefined {
  return name === undefined ? undefined : `${word} ${name}`;
}

function readComment(event: RepositoryEvent, item: Item): Facts {
  const { action, payload } = event;
  const comment = membersOf(payload.comment);
  const isDeleted = action === 'deleted';
  const happened = action === 'created' ? 'new comment' : `comment ${wordsOf(action)}`;
  return {
    ...about(event, item, happened),
    body: isDeleted ? undefined : textBy(comment.user, comment.body),
    url: (isDeleted ? undefined : urlOf(comment.html_url)) ?? item.url,
  };
}

function readReview(event: RepositoryEvent): Facts {
  const { action, payload } = event;
  const review = membersOf(payload.review);
  const state = action === 'submitted' ? textOf(review.state)?.toLowerCase() : action;
  const happened = state === 'approved' ? 'approved' : phrase('review', state === undefined ? '' : wordsOf(state));
  const item = itemOf(payload.pull_request, 'PR');
  return {
    ...about(event, item, happened),
    body: textBy(review.user, review.body ?? review.content),
    url: urlOf(review.html_url) ?? item.url,
  };
}

function textBy(user: JsonValue | undefined, text: JsonValue | undefined): string | undefined {
  const excerpt = excerptOf(text);
  const name = personOf(user);
  return name === undefined || excerpt === undefined ? excerpt : `${name}: ${excerpt}`;
}
