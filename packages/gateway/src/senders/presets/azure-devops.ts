// Service hooks of Azure DevOps. Each event has a message that is made for people.
import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { excerptOf, firstLineOf, membersOf, type Preset, textAt, textOf, urlOf, valueAt } from '../event.ts';
import { keyOf, phrase, splitCamelCase, wordsOf } from '../text.ts';

const severities: Readonly<Record<string, Severity>> = {
  succeeded: 'info',
  partiallySucceeded: 'warning',
  failed: 'error',
  rejected: 'error',
  // Usually a newer build canceled this one.
  canceled: 'info',
};
/** States of a work item that is over. */
const endStates = new Set(['Closed', 'Done', 'Resolved', 'Completed', 'Removed']);

interface Facts {
  /** For subscriptions that send no messages. */
  title?: string | undefined;
  severity?: Severity | null;
  url?: string | undefined;
  thread?: string | undefined;
  resolved?: boolean;
}

export const azureDevOps: Preset = {
  name: 'azure-devops',
  label: 'Azure DevOps',
  matches({ body }) {
    const { eventType, publisherId, resource } = membersOf(body.value);
    return typeof eventType === 'string' && typeof publisherId === 'string' && resource !== undefined;
  },
  read({ body }) {
    const payload = membersOf(body.value);
    const eventType = textOf(payload.eventType);
    if (eventType === undefined) return null;
    const resource = membersOf(payload.resource);
    const facts = readFacts(eventType, resource);
    const message = firstLineOf(valueAt(payload.message, 'text'))?.replace(/\.$/, '');
    const details = excerptOf(valueAt(payload.detailedMessage, 'text'));
    const title = message ?? facts.title ?? nameOf(eventType);
    return {
      title,
      body: details?.replace(/\.$/, '') === title ? textAt(resource, 'project', 'name') : details,
      severity: facts.severity ?? null,
      source: 'azure-devops',
      clickUrl: facts.url ?? linkOf(resource),
      threadKey: facts.thread,
      resolved: facts.resolved === true,
      idempotencyKey: textOf(payload.id),
    };
  },
};

function readFacts(eventType: string, resource: JsonObject): Facts {
  if (eventType === 'build.complete') return readRun(resource, textOf(resource.buildNumber));
  if (eventType.startsWith('ms.vss-pipelines.run-')) {
    const run = membersOf(resource.run);
    return readRun(run, textOf(run.name));
  }
  if (eventType.startsWith('ms.vss-release.')) return readRelease(eventType, resource);
  if (eventType.startsWith('git.pullrequest.')) return readPullRequest(eventType, resource);
  if (eventType.startsWith('workitem.')) return readWorkItem(eventType, resource);
  if (eventType === 'git.push') {
    const url = textAt(resource, 'repository', 'remoteUrl');
    // The address to clone from may begin with a user name.
    return { url: urlOf(url?.replace(/^(https?:\/\/)[^/@]*@/, '$1')) };
  }
  return {};
}

/** A build or the run of a pipeline; they share one sequence of ids. */
function readRun(run: JsonObject, name: string | undefined): Facts {
  const result = textOf(run.result);
  return {
    title: phrase('Build', name, result === undefined ? textOf(run.state) : splitCamelCase(result)),
    severity: severityOfResult(result),
    url: linkOf(run),
    thread: keyOf('build', textOf(run.id)),
    resolved: result === 'succeeded',
  };
}

function readRelease(eventType: string, resource: JsonObject): Facts {
  const environment = membersOf(resource.environment ?? valueAt(resource.approval, 'releaseEnvironment'));
  const release = membersOf(resource.release ?? environment.release ?? valueAt(resource.approval, 'release'));
  const stage = textOf(environment.name);
  const id = textOf(release.id);
  const isCompleted = eventType === 'ms.vss-release.deployment-completed-event';
  const status = isCompleted ? textOf(environment.status) : undefined;
  // A person must approve before the deployment continues.
  const isWaiting = eventType === 'ms.vss-release.deployment-approval-pending-event';
  return {
    title: phrase(textOf(release.name), stage, status === undefined ? nameOf(eventType) : splitCamelCase(status)),
    severity: isWaiting ? 'warning' : severityOfResult(status),
    url: linkOf(release),
    thread: keyOf('release', id === undefined ? undefined : phrase(id, stage)),
    resolved: status === 'succeeded',
  };
}

function readPullRequest(eventType: string, resource: JsonObject): Facts {
  const pullRequest = membersOf(resource.pullRequest ?? resource);
  const repository = membersOf(pullRequest.repository);
  const id = textOf(pullRequest.pullRequestId);
  const where = [textAt(repository, 'project', 'name'), textOf(repository.name)].filter((name) => name !== undefined);
  const status = textOf(pullRequest.status);
  const isOver = status === 'completed' || status === 'abandoned';
  return {
    title: phrase('PR', id, textOf(pullRequest.title), nameOf(eventType)),
    url: linkOf(pullRequest),
    thread: id === undefined ? undefined : `${where.join('/')} PR ${id}`,
    resolved: isOver && resource.comment === undefined,
  };
}

function readWorkItem(eventType: string, resource: JsonObject): Facts {
  const revision = membersOf(resource.revision);
  const fields = membersOf(revision.fields ?? resource.fields);
  const id = textOf(resource.workItemId) ?? textOf(resource.id);
  const state = textOf(valueAt(resource.fields, 'System.State', 'newValue'));
  const isDeleted = eventType === 'workitem.deleted';
  return {
    title: phrase(textOf(fields['System.WorkItemType']), id, textOf(fields['System.Title']), nameOf(eventType)),
    url: linkOf(resource) ?? linkOf(revision),
    thread: keyOf('work item', id),
    resolved: isDeleted || (state !== undefined && endStates.has(state)),
  };
}

function severityOfResult(result: string | undefined): Severity | null {
  return result !== undefined && Object.hasOwn(severities, result) ? (severities[result] ?? null) : null;
}

/** `ms.vss-release.deployment-started-event` → `deployment started`. */
function nameOf(eventType: string): string {
  return wordsOf(eventType.replace(/^ms\.[\w-]+\./, '').replace(/-event$/, '')).replaceAll('.', ' ');
}

/** The page; `url` is an address of the API. */
function linkOf(value: JsonValue): string | undefined {
  const links = membersOf(membersOf(value)._links);
  return urlOf(membersOf(links.web).href) ?? urlOf(membersOf(links.html).href);
}
