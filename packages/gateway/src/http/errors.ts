// The one place that turns a refusal into a response.
import { type ErrorResponse, errors } from '@tocsin/contract';
import { Refusal } from '../core/refusal.ts';

/** Anything that is not a refusal is a bug; the caller gets an opaque internal error. */
export function toRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal('internal');
}

export function errorAnswer(refusal: Refusal, requestId: string, now: number): { status: number; body: ErrorResponse } {
  return {
    status: errors[refusal.code].status,
    body: {
      ok: false,
      error: refusal.message,
      code: refusal.code,
      ...(refusal.details.length > 0 && { details: refusal.details }),
      ...refusal.report,
      requestId,
      timestamp: new Date(now).toISOString(),
    },
  };
}
