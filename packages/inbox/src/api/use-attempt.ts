// Something that a form or a button tries, and why it did not work the last time.
import { useCallback, useState } from 'preact/hooks';

export interface Attempt {
  /** null before it failed, and while it is tried again. */
  error: unknown;
  attempt(work: () => Promise<unknown>): Promise<void>;
}

export function useAttempt(): Attempt {
  const [error, setError] = useState<unknown>(null);
  const attempt = useCallback(async (work: () => Promise<unknown>) => {
    setError(null);
    try {
      await work();
    } catch (problem) {
      setError(problem);
    }
  }, []);
  return { error, attempt };
}
