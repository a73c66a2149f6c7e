// Finds web addresses in untrusted text. The text of a link is exactly its address.

export interface TextPiece {
  text: string;
  /** null for text that is not an address. */
  href: string | null;
}

// Ends at white space, at delimiters used around addresses in prose, and at bidi controls, after which the displayed address
// would differ from the one that opens.
const address = /https?:\/\/[^\s<>"'`\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]+/giu;
const trailing = new Set('.,;:!?…');
const closers: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

/** Addresses beyond this offset stay text, so that a log file does not become thousands of links. */
export const linkedCharacters = 10_000;
/** Longer addresses stay text, because parsing a host takes more than linear time. */
const maxAddressLength = 2048;

/**
 * Runs in linear time for any text. `isCut`: the text was truncated, so an address at its end may be incomplete.
 */
export function splitLinks(content: string, isCut = false): TextPiece[] {
  const pieces: TextPiece[] = [];
  const searched = content.slice(0, linkedCharacters);
  let done = 0;
  for (const match of searched.matchAll(address)) {
    const isAtEnd = match.index + match[0].length === searched.length;
    if (isAtEnd && (isCut || searched.length < content.length)) break;
    const found = trim(match[0]);
    const href = found.length > maxAddressLength ? null : safeHref(found);
    if (href === null) continue;
    if (match.index > done) pieces.push({ text: content.slice(done, match.index), href: null });
    pieces.push({ text: found, href });
    done = match.index + found.length;
  }
  if (done < content.length) pieces.push({ text: content.slice(done), href: null });
  return pieces;
}

/** Removes punctuation and closing brackets that belong to the sentence around the address. */
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

/** Rejects addresses with credentials: https://bank.example@evil.example looks like the bank. */
function safeHref(found: string): string | null {
  const url = URL.parse(found);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  return url.username === '' && url.password === '' ? url.href : null;
}
