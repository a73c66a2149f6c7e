// The client of the console's API.
import type { ConsoleError, ConsoleErrorCode } from '@tocsin/contract/console';
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

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
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

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return request<T>('GET', path, undefined, signal);
}

export function post<T = void>(path: string, body?: unknown): Promise<T> {
  return request<T>('POST', path, body);
}

export function put<T = void>(path: string, body: unknown): Promise<T> {
  return request<T>('PUT', path, body);
}

export function remove<T = void>(path: string): Promise<T> {
  return request<T>('DELETE', path);
}

async function request<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(`/api${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    ...(signal !== undefined && { signal }),
  });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** For responses that are read as a stream. */
export async function openStream(path: string, signal: AbortSignal): Promise<Response> {
  return send(`/api${path}`, { signal });
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
