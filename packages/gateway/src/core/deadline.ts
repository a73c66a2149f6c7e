export interface Deadline extends Disposable {
  signal: AbortSignal;
}

/**
 * Aborts after `ms`, or with `outer`. Created for every send of every request: AbortSignal.timeout and AbortSignal.any do
 * the same, but leave their timers and links to the garbage collector and cost several times as much.
 */
export function createDeadline(ms: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  // The name that AbortSignal.timeout gives its reason.
  const timer = setTimeout(() => controller.abort(new DOMException('Time is up', 'TimeoutError')), ms);
  const follow = (): void => controller.abort(outer?.reason);
  if (outer?.aborted) follow();
  else outer?.addEventListener('abort', follow, { once: true });
  const { signal } = controller;
  return {
    signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', follow);
    },
  };
}

/** True when the signal aborted because its time ran out, and not because the caller cancelled. */
export function isTimeout({ reason }: AbortSignal): boolean {
  return (reason as Error | undefined)?.name === 'TimeoutError';
}
