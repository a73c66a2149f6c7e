// Whether a notification is what somebody looks for: every word occurs somewhere in what a caller wrote, however it is
// spelled: upper or lower case, with or without accents, composed or not.
import type { JsonValue } from '@tocsin/contract';
import type { NotificationContent } from '../../gateway/ports.ts';

/** Letters that Unicode does not take apart, though people leave their strokes out. */
const strokes: Readonly<Record<string, string>> = { Ł: 'L', Ø: 'O', Đ: 'D', Ħ: 'H', Æ: 'AE', Œ: 'OE' };

const ascii = /^\p{ASCII}*$/u;

/** Upper case, not lower: there ß is SS, and the two small sigmas of Greek are one. */
export function fold(text: string): string {
  if (ascii.test(text)) return text.toUpperCase();
  return text
    .normalize('NFKD')
    .replaceAll(/\p{Mn}/gu, '')
    .normalize('NFC')
    .toUpperCase()
    .replaceAll(/[ŁØĐĦÆŒ]/g, (letter) => strokes[letter] ?? letter);
}

export type Match = (content: Pick<NotificationContent, 'title' | 'body' | 'source' | 'data'>) => boolean;

/** Without words everything matches. */
export function createMatch(query: string): Match {
  const words = fold(query)
    .split(/\s+/)
    .filter((word) => word !== '');
  return ({ title, body, source, data }) => {
    if (words.length === 0) return true;
    const texts: string[] = [];
    gather([title, body, source, data], texts);
    // All at once: data can hold tens of thousands of short texts. No word has a line break in it, so none matches across.
    const folded = fold(texts.join('\n'));
    return words.every((word) => folded.includes(word));
  };
}

function gather(value: JsonValue, texts: string[]): void {
  if (value === null || typeof value !== 'object') texts.push(String(value));
  else if (Array.isArray(value)) for (const inner of value) gather(inner, texts);
  else {
    for (const [name, inner] of Object.entries(value)) {
      texts.push(name);
      gather(inner, texts);
    }
  }
}
