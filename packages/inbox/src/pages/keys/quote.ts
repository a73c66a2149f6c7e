// Text as a literal of another language, whatever is in it.

/** For sh and all that follow it: nothing is special between single quotes but their end. */
export function shellString(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function phpString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
