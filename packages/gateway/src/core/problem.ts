/** An error for the operator: what is wrong, where, and what to do. It is printed without a stack trace. */
export class Problem extends Error {
  override readonly name = 'Problem';
}
