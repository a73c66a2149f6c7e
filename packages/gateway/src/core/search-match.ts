// Whether a notification is what an owner searches for: every word occurs somewhere in what a caller wrote, however it is
// spelled: upper or lower case, with or without accents, composed or not.
import type { JsonValue, NotificationContent } from '@tocsin/contract';

export interface SearchTerms {
  /** Search words; an empty list matches every notification. */
  query: string;
  /** `none` stands for notifications without a severity; null: any. */
  severities: readonly string[] | null;
  categories: readonly string[] | null;
}

export type Match = (content: NotificationContent) => boolean;

export function createMatch({ query, severities, categories }: SearchTerms): Match {
  const hasWords = createWordMatch(query);
  return (content) =>
    (severities === null || severities.includes(content.severity ?? 'none')) &&
    (categories === null || categories.includes(content.category)) &&
    hasWords(content);
}

function createWordMatch(query: string): Match {
  const words = fold(query)
    .split(/\s+/)
    .filter((word) => word !== '');
  return ({ title, body, source, data }) => {
    if (words.length === 0) return true;
    const texts: string[] = [];
    gather([title, body, source, data], texts);
    // Joined, because data can contain tens of thousands of short texts. No word contains a line break, so none matches across.
    const folded = fold(texts.join('\n'));
    return words.every((word) => folded.includes(word));
  };
}

/** Letters that Unicode does not take apart, though people leave their strokes out. */
const strokes: Readonly<Record<string, string>> = { Ł: 'L', Ø: 'O', Đ: 'D', Ħ: 'H', Æ: 'AE', Œ: 'OE' };

const ascii = /^\p{ASCII}*$/u;

/**
 * Putting combining marks in their canonical order takes quadratic time in the length of a run of them, so runs are cut
 * before, as the Stream-Safe Text Format of UAX #15 does. The two half-width marks of Japanese are letters themselves, and
 * the only letters that decompose into marks and nothing else.
 */
const longRunOfMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]{1,1000}/gu;

/** Upper case, not lower: there ß is SS, and the two small sigmas of Greek are one. */
function fold(text: string): string {
  if (ascii.test(text)) return text.toUpperCase();
  return cutRunsOfMarks(text)
    .normalize('NFKD')
    .replaceAll(/\p{Mn}/gu, '')
    .normalize('NFC')
    .toUpperCase()
    .replaceAll(/[ŁØĐĦÆŒ]/g, (character) => strokes[character] ?? character);
}

/** Repeats a bounded pattern, because an unbounded one exhausts the stack on megabytes of marks. */
function cutRunsOfMarks(text: string): string {
  const shorter = text.replaceAll(longRunOfMarks, '$1');
  return shorter.length === text.length ? text : cutRunsOfMarks(shorter);
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
