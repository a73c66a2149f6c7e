// Free text, such as that of chat messages → a title and a body.
import { type JsonValue, limits } from '@tocsin/contract';
import { textOf } from './event.ts';

/** More of a text cannot become part of a notification. */
export const readCharacters = 4 * limits.bodyCharacters;

/** The first line is the title. If it is too long for one, the body repeats it. */
export function titleAndBody(text: string): { title?: string; body?: string } {
  const whole = text.slice(0, readCharacters).trim();
  if (whole === '') return {};
  const [title = ''] = whole.split('\n', 1);
  return { title, body: title.length > limits.titleCharacters ? whole : whole.slice(title.length).trim() };
}

/** The texts that exist, one per line; repeated ones once. */
export function uniqueLines(texts: Iterable<string | undefined>): string {
  return [...new Set(texts)].filter((text) => text !== undefined).join('\n');
}

/** The text of Markdown in titles: without emphasis, headings, code marks and the addresses of links. */
export function plainMarkdown(text: string): string {
  return text
    .slice(0, readCharacters)
    .replace(/\[([^[\]\n]*)\]\([^()\s]*\)/g, '$1')
    .replace(/^#{1,6} /gm, '')
    .replace(/\*{1,3}(?=\S)([^*\n]+)(?<=\S)\*{1,3}/g, '$1')
    .replace(/(?<!\w)_{1,3}(?=\S)([^_\n]+)(?<=\S)_{1,3}(?!\w)/g, '$1')
    .replace(/`{1,3}/g, '');
}

/** `Host: web1`; undefined without a value. */
export function lineOfField(name: JsonValue | undefined, value: JsonValue | undefined): string | undefined {
  const text = textOf(value);
  const label = textOf(name);
  return text === undefined || label === undefined ? text : `${label}: ${text}`;
}
