// Text of strangers, made fit for a header or a page.

/** Without control characters and the signs that turn the direction of writing around; any white space is one blank. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll(/[\u202A-\u202E\u2066-\u2069]/g, '')
    .trim();
}

/** Line breaks become \n and stay; other control characters go. */
export function manyLines(text: string): string {
  return text
    .replaceAll(/\r\n?|[\u0085\p{Zl}\p{Zp}]/gu, '\n')
    .replaceAll('\t', '  ')
    .replaceAll(/[^\P{Cc}\n]/gu, '')
    .trimEnd();
}

/** At most so many characters, the last of them an ellipsis where some were lost. No character is cut in half. */
export function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const head = text.slice(0, characters - 1);
  return `${/[\uD800-\uDBFF]$/.test(head) ? head.slice(0, -1) : head}…`;
}
