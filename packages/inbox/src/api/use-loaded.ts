// Something that a page shows and the console knows: loaded with the page, and again when told to.
import { useCallback, useEffect, useState } from 'preact/hooks';
import { get } from './client.ts';

export interface Loaded<T> {
  /** undefined until it is there. */
  value: T | undefined;
  /** Why it is not there. */
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
