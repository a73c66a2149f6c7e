import type { Notification } from '../../usecases/ports/index.ts';
import { originOf, type Row, tableOf } from './email-fields.ts';
import { manyLines, oneLine } from './sanitize.ts';

/** The form for email clients without HTML, and for screen readers. */
export function renderText(notification: Notification): string {
  const { title, body, severity } = notification.content;
  const { rows, more } = tableOf(notification.content);
  const headline = severity === null ? oneLine(title) : `${severity.toUpperCase()}: ${oneLine(title)}`;
  const table = [...rows.map(lineOf), ...(more > 0 ? [`… and ${more} more`] : [])];
  const origin = originOf(notification).map(([name, value]) => `${name}: ${value}`);
  return [headline, manyLines(body), table.join('\n'), origin.join('\n')].filter((part) => part !== '').join('\n\n');
}

function lineOf({ name, value }: Row): string {
  return value.includes('\n') ? `${name}:\n${value.replaceAll(/^/gm, '  ')}` : `${name}: ${value}`;
}
