// Loads a resource of the console with the page, and again on request.
import type { ConsoleRoute, ResponseOf } from '@tocsin/contract/console';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { type CallOptions, call } from './client.ts';

export interface Loaded<T> {
  /** undefined until it is loaded. */
  value: T | undefined;
  /** The error of the last load; null if it succeeded. */
  error: unknown;
  reload(): Promise<void>;
}

/** Routes that need no parameters. */
type LoadableRoute = {
  [Route in ConsoleRoute & `GET ${string}`]: Partial<CallOptions<Route>> extends CallOptions<Route> ? Route : never;
}[ConsoleRoute & `GET ${string}`];

export function useLoaded<Route extends LoadableRoute>(route: Route): Loaded<ResponseOf<Route>> {
  const [value, setValue] = useState<ResponseOf<Route> | undefined>(undefined);
  const [error, setError] = useState<unknown>(null);
  const reload = useCallback(async () => {
    try {
      setValue((await call<LoadableRoute>(route)) as ResponseOf<Route>);
      setError(null);
    } catch (problem) {
      setError(problem);
    }
  }, [route]);
  useEffect(() => {
    void reload();
  }, [reload]);
  return { value, error, reload };
}
