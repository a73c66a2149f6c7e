// What the console refuses, by code; `errors.ts` turns it into an answer.
import type { ConsoleError, ConsoleErrorCode } from '@tocsin/contract/console';

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

/** The same for what never was, what is gone, and what belongs to somebody else. */
export function notFound(what: string): ConsoleRefusal {
  return new ConsoleRefusal('not_found', `There is no such ${what}.`);
}

/** 421 Misdirected Request, RFC 9110 section 15.5.20. */
export function unknownHost(): ConsoleRefusal {
  return new ConsoleRefusal(
    'unknown_host',
    'The console does not answer to this host name. Set TOCSIN_CONSOLE_URL to the address in the address bar of the ' +
      'browser, or add the name to TOCSIN_CONSOLE_HOSTS, and restart.',
  );
}

export function nothingHere(): ConsoleRefusal {
  return new ConsoleRefusal('not_found', 'There is nothing at this address.');
}
