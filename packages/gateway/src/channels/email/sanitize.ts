// Text of strangers, made fit for a header or a page.

/** They show text in another order than it has. */
const bidiControls = /[\u202A-\u202E\u2066-\u2069]/g;
/** https://bank.example⁄login.evil.example leads to evil.example. */
const slashLookAlikes = /[\u2044\u2215\u29F5\u29F8\uFE68\uFF0F\uFF3C]/g;

/** Without control characters and the signs that turn the direction of writing around; any white space is one blank. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll(bidiControls, '')
    .trim();
}

/** Line breaks become \n and stay; other control characters go. Email clients turn addresses into links, so those are plain. */
export function manyLines(text: string): string {
  return text
    .replaceAll(/\r\n?|[\u0085\p{Zl}\p{Zp}]/gu, '\n')
    .replaceAll('\t', '  ')
    .replaceAll(/[^\P{Cc}\n]/gu, '')
    .replaceAll(bidiControls, '')
    .replaceAll(/https?:\/\/\S+/gi, (address) => address.replaceAll(slashLookAlikes, '\ufffd'))
    .trimEnd();
}

/** Truncates to a number of characters, with an ellipsis as the last one. No character is split. */
export function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const head = text.slice(0, characters - 1);
  return `${/[\uD800-\uDBFF]$/.test(head) ? head.slice(0, -1) : head}…`;
}
