import { membersOf, type Preset, textOf, urlOf } from '../event.ts';
import { severityOf } from '../severity.ts';

/**
 * https://www.home-assistant.io/integrations/notify.rest/ and https://www.home-assistant.io/integrations/rest_command/: the
 * operator chooses the names of the fields; read are the default ones and those of `POST /`.
 */
export const homeAssistant: Preset = {
  name: 'home-assistant',
  label: 'Home Assistant',

  matches: ({ headers, body }) =>
    headers['user-agent']?.startsWith('HomeAssistant/') === true && textOf(membersOf(body.value).message) !== undefined,

  read({ body }) {
    const members = membersOf(body.value);
    const message = textOf(members.message);
    if (message === undefined) return null;
    const title = textOf(members.title);
    const [firstLine = '', ...rest] = message.split('\n');
    return {
      title: title ?? firstLine.trim(),
      body: title === undefined ? textOf(rest.join('\n')) : message,
      severity: severityOf(members.severity) ?? severityOf(members.level) ?? null,
      source: 'home-assistant',
      clickUrl: urlOf(members.url),
    };
  },
};
