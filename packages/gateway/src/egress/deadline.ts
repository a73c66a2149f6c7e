/** Runs `work` with a signal that aborts when the caller's does or when time is up. Then it rejects with `late`. */
export async function withDeadline<T>(
  signal: AbortSignal,
  timeoutMs: number,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    const aborted = new Promise<never>((_, reject) => {
      const rejectLate = (): void => reject(late());
      if (controller.signal.aborted) rejectLate();
      else controller.signal.addEventListener('abort', rejectLate, { once: true });
    });
    return await Promise.race([aborted, work(controller.signal)]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
