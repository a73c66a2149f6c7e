// The protocol of the Apprise API for notifications: https://github.com/caronc/apprise-api
import type { JsonObject, Severity } from '@tocsin/contract';
import { Refusal } from '../../core/refusal.ts';
import { type Dialect, membersOf, textOf, toLine } from '../event.ts';

const severities: Readonly<Record<string, Severity>> = {
  info: 'info',
  success: 'info',
  warning: 'warning',
  failure: 'error',
};

/** The body of a notification is much shorter. */
const maxHtmlCharacters = 64 * 1024;

export const apprise: Dialect = {
  name: 'apprise',
  label: 'Apprise API',
  acceptsEmptyBody: true,

  isAt: ({ path }) => /^notify(\/[^/]*)?\/?$/.test(path),

  matches: () => false,

  read({ body: { kind, value } }) {
    const fields: JsonObject = kind === 'text' ? {} : membersOf(value);
    if (textOf(fields.urls) !== undefined)
      throw invalid('urls', 'notifications go to the owner of the key or hook only');
    const body = textOf(fields.body);
    if (body === undefined) throw invalid('body', 'is required');
    const type = textOf(fields.type)?.toLowerCase() ?? '';
    return {
      title: textOf(fields.title),
      body: fields.format === 'html' ? textOfHtml(body) : body,
      severity: Object.hasOwn(severities, type) ? severities[type] : undefined,
      tags: textOf(fields.tag)?.split(/[\s,]+/),
      format: fields.format === 'markdown' ? 'markdown' : undefined,
    };
  },

  confirm: () => toLine({ error: null, details: [] }),

  refuse: ({ text }) => toLine({ error: text }),
};

/** Removes tags and decodes the entities that every HTML text has. */
function textOfHtml(html: string): string {
  return html
    .slice(0, maxHtmlCharacters)
    .replace(/<(?:br|\/p|\/div|\/li)\b[^<>]*>/gi, '\n')
    .replace(/<[^<>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&amp;', '&')
    .trim();
}

function invalid(field: string, problem: string): Refusal {
  return new Refusal('invalid_body', { details: [{ field, problem }] });
}
