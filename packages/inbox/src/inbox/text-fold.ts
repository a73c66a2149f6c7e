// Long text is shown from its beginning, and the rest on request: laying all of it out would stop the page.

export interface FoldedText {
  shown: string;
  /** How many units are left. */
  hidden: number;
}

/** Cuts at `length`, or one before where that would halve a character. */
export function foldText(content: string, length: number): FoldedText {
  if (content.length <= length) return { shown: content, hidden: 0 };
  const last = content.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  const shown = content.slice(0, isHalf ? length - 1 : length);
  return { shown, hidden: content.length - shown.length };
}
