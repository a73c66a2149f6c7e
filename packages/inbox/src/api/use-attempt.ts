// Something that a form or a button tries, and why it did not work the last time.
import { useCallback, useState } from 'preact/hooks';
import { clearMessages } from '../components/toast.tsx';

export interface Attempt {
  /** null before it failed, while it is tried again, and after `forget`. */
  error: unknown;
  attempt(work: () => Promise<unknown>): Promise<void>;
  /** The input was changed: what was wrong with it may not be any more. */
  forget(): void;
}

export function useAttempt(): Attempt {
  const [error, setError] = useState<unknown>(null);
  const attempt = useCallback(async (work: () => Promise<unknown>) => {
    setError(null);
    clearMessages();
    try {
      await work();
    } catch (problem) {
      setError(problem);
    }
  }, []);
  const forget = useCallback(() => setError(null), []);
  return { error, attempt, forget };
}
