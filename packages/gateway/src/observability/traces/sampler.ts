/** Decides by the trace id, so that every process that samples alike keeps the same traces. */
export function createSampler(ratio: number): (traceId: string) => boolean {
  // Of the last 56 bits, which are random in every trace id, as many as a double holds.
  const bound = ratio * 2 ** 52;
  return (traceId) => Number.parseInt(traceId.slice(19), 16) < bound;
}
