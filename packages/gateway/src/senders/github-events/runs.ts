// Workflow runs, checks, commit statuses and deployments.
import type { Severity } from '@tocsin/contract';
import { firstLineOf, membersOf, textAt, textOf, urlOf } from '../event.ts';
import { phrase, wordsOf } from '../text.ts';
import type { FactReader, RepositoryEvent } from './event.ts';

/** How a run ended → what the title says about it, and its severity. */
const endings: Readonly<Record<string, { happened: string; severity: Severity | null }>> = {
  success: { happened: 'succeeded', severity: 'info' },
  failure: { happened: 'failed', severity: 'error' },
  error: { happened: 'failed with an error', severity: 'error' },
  timed_out: { happened: 'timed out', severity: 'error' },
  startup_failure: { happened: 'failed to start', severity: 'error' },
  action_required: { happened: 'requires action', severity: 'warning' },
  warning: { happened: 'ended with warnings', severity: 'warning' },
  // Usually a newer run cancelled this one.
  cancelled: { happened: 'cancelled', severity: 'info' },
};

interface Ending {
  happened: string;
  severity: Severity | null;
  isSuccess: boolean;
}

export const runReaders: Readonly<Record<string, FactReader>> = {
  workflow_run(event) {
    const run = membersOf(event.payload.workflow_run);
    const workflow = textOf(run.name) ?? textAt(event.payload, 'workflow', 'name') ?? textOf(run.path) ?? 'workflow';
    const { happened, severity, isSuccess } = endingOf(event, textOf(run.conclusion), textOf(run.status));
    const branch = textOf(run.head_branch);
    return {
      title: phrase(event.where, workflow, happened, branch === undefined ? undefined : `on ${branch}`),
      body: textOf(run.display_title) ?? firstLineOf(membersOf(run.head_commit).message),
      severity,
      url: urlOf(run.html_url),
      thread: threadOf('run', textOf(run.id)),
      resolved: isSuccess,
    };
  },
  workflow_job(event) {
    const job = membersOf(event.payload.workflow_job);
    const { happened, severity } = endingOf(event, textOf(job.conclusion), textOf(job.status));
    return {
      title: phrase(event.where, 'job', textOf(job.name), happened),
      body: textOf(job.workflow_name),
      severity,
      url: urlOf(job.html_url),
      thread: threadOf('run', textOf(job.run_id)),
    };
  },
  check_run(event) {
    const check = membersOf(event.payload.check_run);
    const { happened, severity } = endingOf(event, textOf(check.conclusion), textOf(check.status));
    return {
      title: phrase(event.where, 'check', textOf(check.name), happened),
      body: textAt(check, 'output', 'title'),
      severity,
      url: urlOf(check.html_url),
      thread: threadOf('check suite', textAt(check, 'check_suite', 'id')),
    };
  },
  check_suite(event) {
    const suite = membersOf(event.payload.check_suite);
    const { happened, severity, isSuccess } = endingOf(event, textOf(suite.conclusion), textOf(suite.status));
    const branch = textOf(suite.head_branch);
    return {
      title: phrase(event.where, 'checks', branch === undefined ? undefined : `on ${branch}`, happened),
      body: firstLineOf(membersOf(suite.head_commit).message),
      severity,
      thread: threadOf('check suite', textOf(suite.id)),
      resolved: isSuccess,
    };
  },
  status({ where, payload }) {
    const { happened, severity, isSuccess } = ofState(textOf(payload.state) ?? '');
    const context = textOf(payload.context);
    const sha = textOf(payload.sha);
    return {
      title: phrase(where, context, happened),
      body: textOf(payload.description),
      severity,
      url: urlOf(payload.target_url) ?? urlOf(membersOf(payload.commit).html_url),
      thread: threadOf('status', sha === undefined ? undefined : phrase(sha, context)),
      resolved: isSuccess,
    };
  },
  deployment({ where, payload }) {
    const deployment = membersOf(payload.deployment);
    return {
      title: phrase(where, 'deployment to', textOf(deployment.environment), 'created'),
      body: textOf(deployment.description),
      url: urlOf(membersOf(payload.workflow_run).html_url),
      thread: threadOf('deployment', textOf(deployment.id)),
    };
  },
  deployment_status({ where, payload }) {
    const status = membersOf(payload.deployment_status);
    const { happened, severity, isSuccess } = ofState(textOf(status.state) ?? '');
    const environment = textOf(status.environment) ?? textAt(payload, 'deployment', 'environment');
    return {
      title: phrase(where, 'deployment to', environment, happened),
      body: textOf(status.description),
      severity,
      url: urlOf(status.target_url) ?? urlOf(status.log_url),
      thread: threadOf('deployment', textAt(payload, 'deployment', 'id')),
      resolved: isSuccess,
    };
  },
  deployment_review({ where, payload, action }) {
    const run = membersOf(payload.workflow_run);
    return {
      title: phrase(where, 'deployment to', textOf(payload.environment), 'review', wordsOf(action)),
      body: textOf(run.display_title) ?? textOf(run.name),
      // A person must act before the deployment continues.
      severity: action === 'requested' ? 'warning' : 'info',
      url: urlOf(run.html_url),
      thread: threadOf('run', textOf(run.id)),
    };
  },
  page_build({ where, payload }) {
    const status = textAt(payload, 'build', 'status') ?? 'built';
    const severities: Readonly<Record<string, Severity>> = { built: 'info', errored: 'error' };
    return {
      title: phrase(where, 'page', status),
      body: textAt(payload, 'build', 'error', 'message'),
      severity: severities[status] ?? null,
    };
  },
};

/** A conclusion counts once the run is completed: a run that is requested again still has its old one. */
function endingOf({ action }: RepositoryEvent, conclusion: string | undefined, status: string | undefined): Ending {
  if (conclusion !== undefined && (action === 'completed' || conclusion === 'action_required'))
    return ofState(conclusion);
  return { happened: inWords(action === 'completed' ? (status ?? action) : action), severity: null, isSuccess: false };
}

function ofState(state: string): Ending {
  const ending = Object.hasOwn(endings, state) ? endings[state] : undefined;
  return { happened: inWords(state), severity: null, ...ending, isSuccess: state === 'success' };
}

function inWords(action: string): string {
  return action === 'rerequested' ? 'requested again' : wordsOf(action);
}

function threadOf(kind: string, id: string | undefined): string | undefined {
  return id === undefined ? undefined : ` ${kind} ${id}`;
}
