// Web addresses in text that others wrote. What is linked is exactly what is read.

export interface TextPiece {
  text: string;
  /** Where it leads; null for text that is no address. */
  href: string | null;
}

// Ends at white space, at what encloses addresses in prose, and at characters that change the direction of writing:
// behind those the address on the screen would not be the one that opens.
const address = /https?:\/\/[^\s<>"'`\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]+/giu;
const trailing = new Set('.,;:!?…');
const closers: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

/** Addresses further back than this stay text: a log file as a value would become thousands of links. */
export const linkedCharacters = 10_000;
/** Parsing the host of an address takes more than linear time, and nobody reads a longer one. */
const longestAddress = 2048;

/**
 * Takes time in proportion to the length of the text, whatever is in it. `isCut`: the text goes on behind its end, so that
 * an address there may not be whole.
 */
export function splitLinks(content: string, isCut = false): TextPiece[] {
  const pieces: TextPiece[] = [];
  const searched = content.slice(0, linkedCharacters);
  let done = 0;
  for (const match of searched.matchAll(address)) {
    const isAtEnd = match.index + match[0].length === searched.length;
    if (isAtEnd && (isCut || searched.length < content.length)) break;
    const found = trim(match[0]);
    const href = found.length > longestAddress ? null : safeHref(found);
    if (href === null) continue;
    if (match.index > done) pieces.push({ text: content.slice(done, match.index), href: null });
    pieces.push({ text: found, href });
    done = match.index + found.length;
  }
  if (done < content.length) pieces.push({ text: content.slice(done), href: null });
  return pieces;
}

/** A full stop, or a bracket that was opened before the address, belongs to the sentence. */
function trim(found: string): string {
  const counts = new Map<string, number>();
  for (const character of found) counts.set(character, (counts.get(character) ?? 0) + 1);
  let end = found.length;
  for (; end > 0; end -= 1) {
    const last = found[end - 1] as string;
    if (trailing.has(last)) continue;
    const opener = closers[last];
    const closed = counts.get(last) ?? 0;
    if (opener === undefined || (counts.get(opener) ?? 0) >= closed) break;
    counts.set(last, closed - 1);
  }
  return found.slice(0, end);
}

/** No names and passwords before the host: https://bank.example@evil.example looks like the bank. */
function safeHref(found: string): string | null {
  const url = URL.parse(found);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  return url.username === '' && url.password === '' ? url.href : null;
}
