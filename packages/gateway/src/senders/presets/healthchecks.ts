import { membersOf, type Preset, type SenderEvent, textOf } from '../event.ts';
import { keyOf } from '../text.ts';

/**
 * https://healthchecks.io/docs/configuring_notifications/: the operator writes the body. Read are the one of our
 * documentation (`$NAME`, `$STATUS`, `$CODE`, `$BODY`), the JSON of a check (`$JSON`), and text.
 */
export const healthchecks: Preset = {
  name: 'healthchecks',
  label: 'Healthchecks',

  matches: ({ headers, body }) =>
    headers['user-agent']?.startsWith('healthchecks.io') === true ||
    textOf(membersOf(membersOf(body.value).check).ping_url) !== undefined,

  read({ body }) {
    if (body.kind === 'text') return readText(body.text);
    const members = membersOf(body.value);
    const check = membersOf(members.check);
    const status = textOf(members.status) ?? textOf(check.status);
    const name = textOf(members.name) ?? textOf(check.name);
    if (name === undefined || status === undefined) return null;
    const code = textOf(members.code) ?? textOf(check.uuid) ?? textOf(check.unique_key);
    const isDown = status === 'down';
    const isUp = status === 'up';
    return {
      title: `${name} is ${status}`,
      body: textOf(members.body) ?? textOf(check.desc),
      severity: isDown ? 'error' : isUp ? 'info' : null,
      source: 'healthchecks',
      threadKey: keyOf('check', code),
      resolved: isUp || (isDown ? false : undefined),
    };
  },
};

function readText(text: string): SenderEvent {
  const [title = '', ...rest] = text.trim().split('\n');
  return { title: title.trim(), body: textOf(rest.join('\n')), source: 'healthchecks' };
}
