// Loads a resource of the console with the page, and again on request.
import { useCallback, useEffect, useState } from 'preact/hooks';
import { get } from './client.ts';

export interface Loaded<T> {
  /** undefined until it is loaded. */
  value: T | undefined;
  /** The error of the last load; null if it succeeded. */
  error: unknown;
  reload(): Promise<void>;
}

export function useLoaded<T>(path: string): Loaded<T> {
  const [value, setValue] = useState<T | undefined>(undefined);
  const [error, setError] = useState<unknown>(null);
  const reload = useCallback(async () => {
    try {
      setValue(await get<T>(path));
      setError(null);
    } catch (problem) {
      setError(problem);
    }
  }, [path]);
  useEffect(() => {
    void reload();
  }, [reload]);
  return { value, error, reload };
}
