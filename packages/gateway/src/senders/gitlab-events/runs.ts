// Pipelines, jobs and deployments.
import type { JsonValue, Severity } from '@tocsin/contract';
import { firstLineOf, membersOf, textOf, urlOf } from '../event.ts';
import { phrase, wordsOf } from '../text.ts';
import type { FactReader, ProjectEvent } from './event.ts';

const severities: Readonly<Record<string, Severity>> = {
  failed: 'error',
  success: 'info',
  // Usually a newer pipeline canceled this one.
  canceled: 'info',
};

export const runReaders: Readonly<Record<string, FactReader>> = {
  pipeline(event) {
    const { payload, item, where } = event;
    const status = textOf(item.status) ?? '';
    const id = textOf(item.id);
    return {
      title: phrase(where, 'pipeline', inWords(status), onBranch(item.ref)),
      body: firstLineOf(membersOf(payload.commit).message),
      // A person must start the next job.
      severity: status === 'manual' ? 'warning' : severityOfStatus(status),
      url: urlOf(item.url) ?? pageOf(event, 'pipelines', item.id),
      thread: pipelineThread(id),
      resolved: status === 'success',
    };
  },
  build(event) {
    const { payload, where } = event;
    const status = textOf(payload.build_status) ?? '';
    const isAllowed = status === 'failed' && payload.build_allow_failure === true;
    const reason = status === 'failed' ? textOf(payload.build_failure_reason) : undefined;
    const name = textOf(payload.build_name);
    return {
      title: phrase(where, 'job', name, inWords(status), onBranch(payload.ref)),
      body: reason === undefined ? undefined : wordsOf(reason),
      severity: isAllowed ? 'warning' : severityOfStatus(status),
      url: pageOf(event, 'jobs', payload.build_id),
      thread: pipelineThread(textOf(payload.pipeline_id)),
    };
  },
  deployment(event) {
    const { payload, where } = event;
    const status = textOf(payload.status) ?? '';
    const id = textOf(payload.deployment_id);
    return {
      title: phrase(where, 'deployment to', textOf(payload.environment), inWords(status)),
      body: textOf(payload.commit_title),
      severity: severityOfStatus(status),
      url: urlOf(payload.deployable_url) ?? pageOf(event, 'jobs', payload.deployable_id),
      thread: id === undefined ? undefined : ` deployment ${id}`,
      resolved: status === 'success',
    };
  },
};

function inWords(status: string): string {
  return status === 'success' ? 'succeeded' : wordsOf(status);
}

function severityOfStatus(status: string): Severity | null {
  return Object.hasOwn(severities, status) ? (severities[status] ?? null) : null;
}

function onBranch(ref: JsonValue | undefined): string | undefined {
  const branch = textOf(ref);
  return branch === undefined ? undefined : `on ${branch}`;
}

function pipelineThread(id: string | undefined): string | undefined {
  return id === undefined ? undefined : ` pipeline ${id}`;
}

/** The address of a job is not in its event. */
function pageOf({ home }: ProjectEvent, kind: string, id: JsonValue | undefined): string | undefined {
  return home !== undefined && Number.isSafeInteger(id) ? `${home}/-/${kind}/${id}` : undefined;
}
