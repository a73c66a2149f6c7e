// Docker Hub: an image was pushed. `callback_url` is for chains of webhooks and is never called.
import { membersOf, type Preset, textOf, urlOf } from '../event.ts';
import { phrase } from '../text.ts';

export const dockerHub: Preset = {
  name: 'docker-hub',
  label: 'Docker Hub',
  matches({ body }) {
    const { push_data: pushed, repository } = membersOf(body.value);
    return textOf(membersOf(pushed).tag) !== undefined && textOf(membersOf(repository).repo_name) !== undefined;
  },
  read({ body }) {
    const payload = membersOf(body.value);
    const pushed = membersOf(payload.push_data);
    const repository = membersOf(payload.repository);
    const name = textOf(repository.repo_name);
    if (name === undefined) return null;
    const tag = textOf(pushed.tag);
    const pusher = textOf(pushed.pusher);
    return {
      title: phrase(tag === undefined ? name : `${name}:${tag}`, 'pushed'),
      body: pusher === undefined ? undefined : `by ${pusher}`,
      severity: null,
      source: 'docker-hub',
      clickUrl: urlOf(repository.repo_url),
    };
  },
};
