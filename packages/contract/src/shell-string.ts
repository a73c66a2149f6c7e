/** Quotes text for POSIX shells, where only the single quote itself is special within single quotes. */
export function shellString(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
