import { membersOf, type Preset, textOf } from '../event.ts';
import { severityOf } from '../severity.ts';

/**
 * https://pve.proxmox.com/pve-docs/chapter-notifications.html#notification_targets_webhook: the operator writes the body;
 * read is the one of our documentation, with `title`, `message`, `severity`, `timestamp` and `fields`.
 */
export const proxmox: Preset = {
  name: 'proxmox',
  label: 'Proxmox',

  matches: ({ body }) => {
    const { title, message, severity, fields } = membersOf(body.value);
    return (
      textOf(title) !== undefined &&
      message !== undefined &&
      severity !== undefined &&
      textOf(membersOf(fields).hostname) !== undefined
    );
  },

  read({ body }) {
    const { title, message, severity } = membersOf(body.value);
    const text = textOf(title);
    if (text === undefined) return null;
    return {
      title: text,
      body: textOf(withoutFences(textOf(message) ?? '')),
      severity: severityOf(severity) ?? null,
      source: 'proxmox',
    };
  },
};

/** Some templates of Proxmox enclose the text in Markdown fences. */
function withoutFences(text: string): string {
  return text.replaceAll(/^```\w*$/gm, '');
}
