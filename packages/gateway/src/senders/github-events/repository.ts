// Pushes, branches, releases, and the repository itself.
import type { JsonObject, JsonValue } from '@tocsin/contract';
import { excerptOf, firstLineOf, itemsOf, membersOf, textAt, textOf, urlOf } from '../event.ts';
import type { Facts } from '../facts.ts';
import { phrase, wordsOf } from '../text.ts';
import { type FactReader, personOf, type RepositoryEvent } from './event.ts';

const listedCommits = 5;

export const repositoryReaders: Readonly<Record<string, FactReader>> = {
  push: readPush,
  create: ({ where, payload }) => ({ title: phrase(where, refOf(payload), 'created') }),
  delete: ({ where, payload }) => ({ title: phrase(where, refOf(payload), 'deleted') }),
  fork({ where, payload }) {
    const fork = membersOf(payload.forkee);
    return { title: phrase(where, 'forked to', textOf(fork.full_name)), url: urlOf(fork.html_url) };
  },
  gollum({ where, payload }) {
    const [first, ...more] = itemsOf(payload.pages).map(membersOf);
    const others = more.length === 0 ? undefined : `and ${more.length} more`;
    const name = textOf(first?.title) ?? textOf(first?.page_name);
    return {
      title: phrase(where, 'wiki page', name, textOf(first?.action), others),
      url: urlOf(first?.html_url),
    };
  },
  release(event) {
    const { where, action, payload } = event;
    const release = membersOf(payload.release);
    const tag = textOf(release.tag_name);
    const name = textOf(release.name);
    return {
      title: phrase(where, 'release', tag ?? name, wordsOf(action)),
      body: action === 'deleted' ? undefined : (excerptOf(release.body) ?? name),
      url: pageUnlessDeleted(event, release),
      thread: tag === undefined ? undefined : ` release ${tag}`,
    };
  },
  milestone(event) {
    const { where, action, payload } = event;
    const milestone = membersOf(payload.milestone);
    const number = textOf(milestone.number);
    return {
      title: phrase(where, 'milestone', textOf(milestone.title), wordsOf(action)),
      body: excerptOf(milestone.description),
      url: pageUnlessDeleted(event, milestone),
      thread: number === undefined ? undefined : ` milestone ${number}`,
      resolved: action === 'closed' || action === 'deleted',
    };
  },
  commit_comment({ where, payload }) {
    const comment = membersOf(payload.comment);
    const commit = textOf(comment.commit_id)?.slice(0, 8);
    const author = personOf(comment.user);
    return {
      title: phrase(where, 'new comment on commit', commit),
      body: phrase(author === undefined ? undefined : `${author}:`, excerptOf(comment.body)),
      url: urlOf(comment.html_url),
    };
  },
  package: readPackage,
  registry_package: readPackage,
  repository(event) {
    const { action, fullName } = event;
    if (action === 'publicized') return madePublic(fullName);
    const happened = action === 'privatized' ? 'made private' : wordsOf(action);
    const isDeleted = action === 'deleted';
    return {
      title: phrase('Repository', fullName, happened),
      severity: isDeleted ? 'warning' : null,
      url: isDeleted ? null : undefined,
    };
  },
  public: ({ fullName }) => madePublic(fullName),
  repository_import({ where, payload }) {
    const isSuccess = payload.status === 'success';
    const happened = isSuccess ? 'succeeded' : (textOf(payload.status) ?? 'ended');
    return { title: phrase(where, 'import', wordsOf(happened)), severity: isSuccess ? 'info' : 'error' };
  },
  repository_dispatch: ({ where, action }) => ({ title: phrase(where, 'dispatch', action) }),
  workflow_dispatch({ where, payload }) {
    const workflow = textOf(payload.workflow)?.replace(/^.*\//, '');
    return { title: phrase(where, 'workflow', workflow, 'started by hand') };
  },
  merge_group({ where, action, payload }) {
    const branch = shortRef(textAt(payload, 'merge_group', 'base_ref'));
    return {
      title: phrase(where, 'merge queue of', branch, wordsOf(action)),
      body: firstLineOf(membersOf(membersOf(payload.merge_group).head_commit).message),
    };
  },
  branch_protection_rule: ({ where, action, payload }) => ({
    title: phrase(where, 'branch rule', textAt(payload, 'rule', 'name'), wordsOf(action)),
    // Without the rule the branch is less protected.
    severity: action === 'deleted' ? 'warning' : null,
  }),
  meta: ({ fullName, action }) => ({
    title: phrase(fullName, 'webhook', wordsOf(action)),
    body: 'This hook will receive no more events.',
    severity: 'warning',
  }),
  ping: ({ fullName, payload }) => ({
    title: phrase('Webhook of', fullName, 'connected'),
    body: textOf(payload.zen),
  }),
  deploy_key: ({ where, action, payload }) => ({
    title: phrase(where, 'deploy key', textAt(payload, 'key', 'title'), wordsOf(action)),
  }),
  label: ({ where, action, payload }) => ({
    title: phrase(where, 'label', textAt(payload, 'label', 'name'), wordsOf(action)),
  }),
  member: ({ where, action, payload }) => ({
    title: phrase(where, 'collaborator', personOf(payload.member), wordsOf(action)),
  }),
  star: ({ where, action, actor }) => ({
    title: phrase(where, action === 'deleted' ? 'lost the star of' : 'starred by', actor),
  }),
  watch: ({ where, actor }) => ({ title: phrase(where, 'watched by', actor) }),
  project(event) {
    const { where, action, payload } = event;
    const project = membersOf(payload.project);
    const number = textOf(project.number);
    return {
      title: phrase(where, 'project', textOf(project.name), wordsOf(action)),
      url: pageUnlessDeleted(event, project),
      thread: number === undefined ? undefined : ` project ${number}`,
      resolved: action === 'closed' || action === 'deleted',
    };
  },
  project_card({ where, action, payload }) {
    const note = firstLineOf(membersOf(payload.project_card).note);
    const what = phrase(where, 'project card', wordsOf(action));
    return { title: note === undefined ? what : `${what}: ${note}` };
  },
  project_column: ({ where, action, payload }) => ({
    title: phrase(where, 'project column', textAt(payload, 'project_column', 'name'), wordsOf(action)),
  }),
};

function readPush({ where, payload, actor }: RepositoryEvent): Facts {
  const branch = shortRef(textOf(payload.ref));
  if (payload.deleted === true) return { title: phrase(where, branch, 'deleted') };
  const commits = itemsOf(payload.commits);
  const messages = commits
    .slice(0, listedCommits)
    .map((commit) => firstLineOf(membersOf(commit).message))
    .filter((message) => message !== undefined);
  const happened = payload.forced === true ? 'force-pushed' : 'pushed';
  const by = actor ?? personOf(payload.pusher);
  return {
    title: phrase(where, branch, happened, by === undefined ? undefined : `by ${by}`, countOf(commits.length)),
    body: messages.length === 0 ? undefined : messages.join('\n'),
    url: urlOf(payload.compare) ?? urlOf(payload.compare_url),
  };
}

function countOf(commits: number): string | undefined {
  if (commits === 0) return undefined;
  return commits === 1 ? '(1 commit)' : `(${commits} commits)`;
}

function readPackage({ action, payload }: RepositoryEvent): Facts {
  const published = membersOf(payload.package ?? payload.registry_package);
  const version = membersOf(published.package_version);
  return {
    title: phrase(
      'Package',
      textOf(published.name),
      textOf(version.version) ?? textOf(published.version),
      wordsOf(action),
    ),
    body: firstLineOf(version.summary),
    url: urlOf(version.html_url) ?? urlOf(published.html_url),
  };
}

function madePublic(repository: string): Facts {
  return { title: phrase('Repository', repository, 'made public'), severity: 'warning' };
}

function pageUnlessDeleted({ action }: RepositoryEvent, members: JsonObject): string | undefined {
  return action === 'deleted' ? undefined : urlOf(members.html_url);
}

function refOf(payload: JsonObject): string {
  return phrase(textOf(payload.ref_type), shortRef(payload.ref));
}

/** `refs/heads/main` → `main`. */
function shortRef(ref: JsonValue | undefined): string | undefined {
  return textOf(ref)?.replace(/^refs\/(heads|tags)\//, '');
}
