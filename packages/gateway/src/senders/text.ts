// Text of events, built from members that may be missing.

/** The given lines; undefined if there is none. */
export function joinLines(...lines: readonly (string | undefined)[]): string | undefined {
  const given = lines.filter((line) => line !== undefined);
  return given.length === 0 ? undefined : given.join('\n');
}

/** `issue 5001`: ids of different kinds of things never make the same key. */
export function keyOf(kind: string, id: string | undefined): string | undefined {
  return id === undefined ? undefined : `${kind} ${id}`;
}

export function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
