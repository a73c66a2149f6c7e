// Quotes arbitrary text as a string literal of another language.

/** For POSIX shells, where only the single quote itself is special within single quotes. */
export function shellString(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function phpString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
