// GitHub: the header says which event it is; the body has the action.
import type { Preset } from '../event.ts';
import { accountReaders } from '../github-events/accounts.ts';
import { alertReaders } from '../github-events/alerts.ts';
import {
  type FactReader,
  type Facts,
  type RepositoryEvent,
  repositoryEvent,
  toSenderEvent,
} from '../github-events/event.ts';
import { issueReaders } from '../github-events/issues.ts';
import { repositoryReaders } from '../github-events/repository.ts';
import { runReaders } from '../github-events/runs.ts';
import { prefixedHmacProblem } from '../signatures/hmac-hex.ts';

const readers: Readonly<Record<string, FactReader>> = {
  ...issueReaders,
  ...runReaders,
  ...repositoryReaders,
  ...alertReaders,
  ...accountReaders,
};

/** Events that are sent; the others are only stored, unless something is wrong. */
const sentEvents = /^(release|issues|pull_request|check_suite|\w+_alert)$/;
/** Actions that happen often and need no attention. */
const quietActions =
  /^((un)?(labeled|locked|pinned)|unassigned|(de)?milestoned|edited|synchronize|(re)?requested|review_request_removed)$/;

export const github: Preset = {
  name: 'github',
  label: 'GitHub',
  matches: ({ headers }) => headers['x-github-event'] !== undefined,
  read({ headers, body }) {
    const event = repositoryEvent(headers['x-github-event'] ?? '', body.value);
    const facts = Object.hasOwn(readers, event.name) ? readers[event.name]?.(event) : undefined;
    if (facts === undefined || facts === null) return null;
    return { ...toSenderEvent(facts, event, 'GitHub'), silent: !isSent(event, facts) };
  },
  signatureProblem: ({ request: { headers }, rawBody, secret }) =>
    prefixedHmacProblem({
      header: 'X-Hub-Signature-256',
      signature: headers['x-hub-signature-256'],
      signed: rawBody,
      secret,
    }),
};

function isSent({ name, action }: RepositoryEvent, { severity }: Facts): boolean {
  if (severity !== undefined && severity !== null && severity !== 'info') return true;
  return sentEvents.test(name) && !quietActions.test(action);
}
