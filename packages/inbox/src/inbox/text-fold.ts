// Truncates long text, with the rest on request: the layout of all of it would block the page.

export interface FoldedText {
  shown: string;
  /** Number of hidden UTF-16 code units. */
  hidden: number;
}

/** Cuts at `length`, or one code unit earlier to keep a surrogate pair together. */
export function foldText(content: string, length: number): FoldedText {
  if (content.length <= length) return { shown: content, hidden: 0 };
  const last = content.charCodeAt(length - 1);
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff;
  const shown = content.slice(0, isHighSurrogate ? length - 1 : length);
  return { shown, hidden: content.length - shown.length };
}
