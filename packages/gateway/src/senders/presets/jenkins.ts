// The Notification plugin of Jenkins. The log is left out: it often holds secrets.
import type { Severity } from '@tocsin/contract';
import { membersOf, type Preset, textAt, textOf, urlOf } from '../event.ts';
import { keyOf, phrase, wordsOf } from '../text.ts';

const results: Readonly<Record<string, { happened: string; severity: Severity }>> = {
  SUCCESS: { happened: 'succeeded', severity: 'info' },
  FAILURE: { happened: 'failed', severity: 'error' },
  UNSTABLE: { happened: 'unstable', severity: 'warning' },
  ABORTED: { happened: 'aborted', severity: 'warning' },
  NOT_BUILT: { happened: 'not built', severity: 'info' },
};

export const jenkins: Preset = {
  name: 'jenkins',
  label: 'Jenkins',
  matches({ body }) {
    const { name, build } = membersOf(body.value);
    const { phase, number } = membersOf(build);
    return typeof name === 'string' && typeof phase === 'string' && number !== undefined;
  },
  read({ body }) {
    const payload = membersOf(body.value);
    const build = membersOf(payload.build);
    const job = textOf(payload.display_name) ?? textOf(payload.name);
    if (job === undefined) return null;
    const status = textOf(build.status)?.toUpperCase() ?? '';
    const result = Object.hasOwn(results, status) ? results[status] : undefined;
    const number = textOf(build.number);
    const phase = wordsOf((textOf(build.phase) ?? '').toLowerCase());
    return {
      title: phrase(job, number === undefined ? undefined : `#${number}`, result?.happened ?? phase),
      body: phrase(textAt(build, 'scm', 'branch'), textAt(build, 'scm', 'commit')?.slice(0, 8)) || undefined,
      severity: result?.severity ?? null,
      source: 'jenkins',
      clickUrl: urlOf(build.full_url),
      // The name of a job is not unique among folders, its path is.
      threadKey: keyOf('job', textOf(payload.url) ?? textOf(payload.name)),
      resolved: status === 'SUCCESS',
    };
  },
};
