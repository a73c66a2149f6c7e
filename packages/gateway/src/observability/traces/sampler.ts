/** Decides by the trace id, so that all processes with the same ratio sample the same traces. */
export function createSampler(ratio: number): (traceId: string) => boolean {
  // Uses as many of the last 56 bits, which are random in every trace id, as fit into a double.
  const bound = ratio * 2 ** 52;
  return (traceId) => Number.parseInt(traceId.slice(19), 16) < bound;
}
