/** An error for the person at the terminal: what is wrong, where, and what to do. It is shown without a stack. */
export class Problem extends Error {
  override readonly name = 'Problem';
}
