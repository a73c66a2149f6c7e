// The client of the console's API.
import type {
  BodyOf,
  ConsoleError,
  ConsoleErrorCode,
  ConsoleRoute,
  Params,
  QueryOf,
  ResponseOf,
} from '@tocsin/contract/console';
import { type ParamNames, splitRoute, urlOf } from '@tocsin/contract/console/route';
import { text } from '../text/index.ts';

/** The console rejected the request or could not be reached. `message` is shown to users. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ConsoleErrorCode | 'offline';
  readonly details: NonNullable<ConsoleError['details']>;

  constructor(code: ConsoleErrorCode | 'offline', message: string, details: ConsoleError['details'] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

let notifySignedOut: () => void = () => undefined;

/** `listener` is called when the console reports that the session has ended. */
export function onSignedOut(listener: () => void): void {
  notifySignedOut = listener;
}

let notifyReachable: (isReachable: boolean) => void = () => undefined;

/** `listener` is called after every request: true if there was a response, false if not. */
export function onReachable(listener: (isReachable: boolean) => void): void {
  notifyReachable = listener;
}

export type CallOptions<Route extends ConsoleRoute> = ([ParamNames<Route>] extends [never]
  ? { params?: never }
  : { params: Params<Route> }) &
  (BodyOf<Route> extends undefined ? { body?: never } : { body: BodyOf<Route> }) &
  (QueryOf<Route> extends undefined ? { query?: never } : { query: QueryOf<Route> }) & { signal?: AbortSignal };

/** The options can be omitted for routes without parameters and body. */
type CallArguments<Route extends ConsoleRoute> =
  Partial<CallOptions<Route>> extends CallOptions<Route>
    ? [options?: CallOptions<Route>]
    : [options: CallOptions<Route>];

/** Sends a request and resolves with the body of the response; undefined if it has none. Rejects with `ApiError`. */
export async function call<Route extends ConsoleRoute>(
  route: Route,
  ...options: CallArguments<Route>
): Promise<ResponseOf<Route>> {
  const response = await openStream(route, ...options);
  return (response.status === 204 ? undefined : await response.json()) as ResponseOf<Route>;
}

/** For responses that are read as a stream. */
export async function openStream<Route extends ConsoleRoute>(
  route: Route,
  ...[options]: CallArguments<Route>
): Promise<Response> {
  const { params, query, body, signal } = (options ?? {}) as RequestParts;
  return send(urlOf(route, params, query), {
    method: splitRoute(route).method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    ...(signal !== undefined && { signal }),
  });
}

interface RequestParts {
  params?: Record<string, string>;
  query?: Record<string, string | number>;
  body?: unknown;
  signal?: AbortSignal;
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    notifyReachable(false);
    throw new ApiError('offline', text.common.unreachableError);
  }
  notifyReachable(true);
  if (response.ok) return response;
  const { code = 'internal', error = response.statusText, details } = await readError(response);
  if (code === 'signed_out') notifySignedOut();
  throw new ApiError(code, error, details);
}

/** A proxy in between may respond with something other than our JSON. */
async function readError(response: Response): Promise<Partial<ConsoleError>> {
  try {
    return (await response.json()) as ConsoleError;
  } catch {
    return { code: response.status >= 500 ? 'unavailable' : 'internal' };
  }
}
