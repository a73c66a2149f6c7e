// Web addresses in text that others wrote. What is linked is exactly what is read.

export interface TextPiece {
  text: string;
  /** Where it leads; null for text that is no address. */
  href: string | null;
}

// Ends at white space, at what encloses addresses in prose, and at characters that change the direction of writing:
// behind those the address on the screen would not be the one that opens.
const address = /https?:\/\/[^\s<>"'`\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]+/giu;
const trailing = /[.,;:!?…]+$/u;
const closers: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

export function splitLinks(content: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  let done = 0;
  for (const match of content.matchAll(address)) {
    const found = trim(match[0]);
    const href = safeHref(found);
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
  let kept = found.replace(trailing, '');
  for (;;) {
    const closer = kept.at(-1) ?? '';
    const opener = closers[closer];
    if (opener === undefined || count(kept, opener) >= count(kept, closer)) return kept;
    kept = kept.slice(0, -1).replace(trailing, '');
  }
}

function count(content: string, character: string): number {
  return content.split(character).length - 1;
}

/** No names and passwords before the host: https://bank.example@evil.example looks like the bank. */
function safeHref(found: string): string | null {
  const url = URL.parse(found);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  return url.username === '' && url.password === '' ? url.href : null;
}
