// Runs the action of a form or a button and keeps its error.
import { useCallback, useState } from 'preact/hooks';
import { clearMessages } from '../components/toast.tsx';

export interface Attempt {
  /** The error of the last attempt; null while one runs and after `clearError`. */
  error: unknown;
  attempt(work: () => Promise<unknown>): Promise<void>;
  /** To be called when the input changes, since the error may no longer apply. */
  clearError(): void;
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
  const clearError = useCallback(() => setError(null), []);
  return { error, attempt, clearError };
}
