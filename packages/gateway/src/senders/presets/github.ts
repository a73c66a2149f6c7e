// GitHub: the header says which event it is; the body has the action.
import type { Preset } from '../event.ts';
import { accountReaders } from '../github-events/accounts.ts';
import { alertReaders } from '../github-events/alerts.ts';
import { readRepositoryEvent } from '../github-events/event.ts';
import { issueReaders } from '../github-events/issues.ts';
import { repositoryReaders } from '../github-events/repository.ts';
import { runReaders } from '../github-events/runs.ts';
import { prefixedHmacProblem } from '../signatures/hmac-hex.ts';

const readers = { ...issueReaders, ...runReaders, ...repositoryReaders, ...alertReaders, ...accountReaders };

export const github: Preset = {
  name: 'github',
  label: 'GitHub',
  matches: ({ headers }) => headers['x-github-event'] !== undefined,
  read: ({ headers, body }) => readRepositoryEvent(readers, headers['x-github-event'] ?? '', body.value, 'github'),
  signatureProblem: ({ request: { headers }, rawBody, secret }) =>
    prefixedHmacProblem({
      header: 'X-Hub-Signature-256',
      signature: headers['x-hub-signature-256'],
      signed: rawBody,
      secret,
    }),
};
