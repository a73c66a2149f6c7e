// Error responses of the console.

/** Every error has the status that belongs to its code. */
export const consoleErrorStatus = {
  invalid_body: 400,
  /** No session, or one that has ended. */
  signed_out: 401,
  /** The link was used, has expired, or never existed. */
  link_not_valid: 401,
  passkey_refused: 401,
  oidc_refused: 401,
  cross_site: 403,
  operators_only: 403,
  /** Also for everything that belongs to another owner. */
  not_found: 404,
  conflict: 409,
  body_too_large: 413,
  /** The Host header is not a known name of the console. */
  unknown_host: 421,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const;

export type ConsoleErrorCode = keyof typeof consoleErrorStatus;

export interface FieldProblem {
  /** Path of the field, such as `quietHours.push`, `ids.0` or `allowedDomains[0]`; empty for the whole body. */
  field: string;
  problem: string;
}

export interface ConsoleError {
  ok: false;
  /** Message for people. */
  error: string;
  code: ConsoleErrorCode;
  details?: FieldProblem[];
}
