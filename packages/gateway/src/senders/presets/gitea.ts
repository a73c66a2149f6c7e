// Gitea and Forgejo send most events as GitHub does, under header names of their own and under those of GitHub and Gogs.
import {
  firstLineOf,
  membersOf,
  type Preset,
  type SenderRequest,
  type SignedRequest,
  textOf,
  urlOf,
} from '../event.ts';
import type { Facts } from '../facts.ts';
import { type FactReader, type RepositoryEvent, readRepositoryEvent } from '../github-events/event.ts';
import { issueReaders } from '../github-events/issues.ts';
import { repositoryReaders } from '../github-events/repository.ts';
import { runReaders } from '../github-events/runs.ts';
import { hexHmacProblem, prefixedHmacProblem } from '../signatures/hmac-hex.ts';
import { phrase, wordsOf } from '../text.ts';

const readers: Readonly<Record<string, FactReader>> = {
  ...issueReaders,
  ...runReaders,
  ...repositoryReaders,
  pull_request_approved: (event) => readReview(event, 'approved'),
  pull_request_rejected: (event) => readReview(event, 'changes_requested'),
  pull_request_comment: (event) => readReview(event, 'commented'),
  wiki: readWiki,
  action_run_failure: (event) => readRun(event, 'failed'),
  action_run_success: (event) => readRun(event, 'succeeded'),
  action_run_recover: (event) => readRun(event, 'recovered'),
};

export const gitea: Preset = {
  name: 'gitea',
  label: 'Gitea, Forgejo',
  matches: (request) => eventOf(request) !== undefined,
  read(request) {
    const source = request.headers['x-forgejo-event'] === undefined ? 'gitea' : 'forgejo';
    return readRepositoryEvent(readers, eventOf(request) ?? '', request.body.value, source);
  },
  signatureProblem,
};

function eventOf({ headers }: SenderRequest): string | undefined {
  return textOf(headers['x-gitea-event'] ?? headers['x-forgejo-event'] ?? headers['x-gogs-event']);
}

/** Without a secret Gitea sends the headers too, with empty signatures. */
function signatureProblem({ request, rawBody, secret }: SignedRequest): string | null {
  const { headers, body } = request;
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');
  // In a form or a query the JSON is signed, not what wraps it.
  const signed = isForm || request.method === 'GET' ? body.text : rawBody;
  const signature = [headers['x-gitea-signature'], headers['x-forgejo-signature']].find((value) => textOf(value));
  const github = headers['x-hub-signature-256'];
  if (signature === undefined && textOf(github) !== undefined) {
    return prefixedHmacProblem({ header: 'X-Hub-Signature-256', signature: github, signed, secret });
  }
  return hexHmacProblem({ header: 'X-Gitea-Signature', signature, signed, secret });
}

function readReview(event: RepositoryEvent, state: string): Facts | null {
  const { payload } = event;
  const review = { ...membersOf(payload.review), state, user: payload.sender ?? null };
  return issueReaders.pull_request_review?.({ ...event, action: 'submitted', payload: { ...payload, review } }) ?? null;
}

/** The address of a wiki page is not in the event. */
function readWiki({ where, action, payload, home }: RepositoryEvent): Facts {
  const page = firstLineOf(payload.page);
  const path = page?.split('/').map(encodeURIComponent).join('/');
  const isThere = path !== undefined && home !== undefined && action !== 'deleted';
  return {
    title: phrase(where, 'wiki page', page, wordsOf(action)),
    body: textOf(payload.comment),
    url: isThere ? `${home}/wiki/${path}` : undefined,
  };
}

/** Forgejo Actions. The next run of the workflow that succeeds ends the problem. */
function readRun({ where, payload }: RepositoryEvent, happened: string): Facts {
  const run = membersOf(payload.run);
  const workflow = textOf(run.workflow_id);
  const title = textOf(run.title);
  const what = phrase(where, workflow, happened);
  const hasFailed = happened === 'failed';
  return {
    title: title === undefined ? what : `${what}: ${title}`,
    body: textOf(run.prettyref),
    severity: hasFailed ? 'error' : 'info',
    url: urlOf(run.html_url),
    thread: workflow === undefined ? undefined : ` workflow ${workflow}`,
    resolved: !hasFailed,
  };
}
