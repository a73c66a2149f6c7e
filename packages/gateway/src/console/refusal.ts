// Errors that the console reports to its client, by code; `errors.ts` turns them into responses.
import type { ConsoleError, ConsoleErrorCode, FieldProblem } from '@tocsin/contract/console';

export class ConsoleRefusal extends Error {
  override readonly name = 'ConsoleRefusal';
  readonly code: ConsoleErrorCode;
  readonly details: ConsoleError['details'];

  constructor(code: ConsoleErrorCode, message: string, details?: ConsoleError['details']) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The body of the response. */
export function toBody({ code, message, details }: ConsoleRefusal): ConsoleError {
  return { ok: false, error: message, code, ...(details !== undefined && { details }) };
}

/** The message names the first problem; there must be one. */
export function invalidBody(problems: FieldProblem[]): ConsoleRefusal {
  const { field = '', problem = 'is not valid' } = problems[0] ?? {};
  return new ConsoleRefusal('invalid_body', `${field === '' ? 'The body' : field} ${problem}.`, problems);
}

export function signedOut(): ConsoleRefusal {
  return new ConsoleRefusal('signed_out', 'Your session has expired. Sign in again.');
}

export function storeUnavailable(): ConsoleRefusal {
  return new ConsoleRefusal('unavailable', 'The store is not available. Try again in a moment.');
}

export function internalError(): ConsoleRefusal {
  return new ConsoleRefusal('internal', 'Internal error. The log of the service has the cause.');
}

/** The same response for what never existed, what was deleted, and what belongs to another owner. */
export function notFound(what: string): ConsoleRefusal {
  return new ConsoleRefusal('not_found', `There is no such ${what}.`);
}

/** 421 Misdirected Request, RFC 9110 section 15.5.20. */
export function unknownHost(): ConsoleRefusal {
  return new ConsoleRefusal(
    'unknown_host',
    'The console does not respond to this host name. Set TOCSIN_CONSOLE_URL to the address in the address bar of the ' +
      'browser, or add the name to TOCSIN_CONSOLE_HOSTS, and restart.',
  );
}

export function routeNotFound(): ConsoleRefusal {
  return new ConsoleRefusal('not_found', 'There is nothing at this address.');
}
