// Names and labels are one line of printable text: terminals and pages show them as they are.

/** Control characters, line separators, and the bidirectional controls that change the order in which text is shown. */
export const unprintable = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

export function isPrintable(text: string): boolean {
  return text.search(unprintable) === -1;
}

export const unprintableProblem = 'must not contain control characters or line breaks';

/** What is wrong with a trimmed name or label; null: nothing. */
export function lineProblem(text: string, maxLength: number): string | null {
  if (text === '' || text.length > maxLength) return `must be text of 1 to ${maxLength} characters`;
  return isPrintable(text) ? null : unprintableProblem;
}
