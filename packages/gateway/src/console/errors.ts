// Whatever a route throws → what the app is told. Anything that is not known here is a fault of ours.
import type { ConsoleError, ConsoleErrorCode } from '@tocsin/contract/console';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { EncryptionKeyMissing, StoreUnavailable } from '../usecases/ports/index.ts';
import type { ConsoleApiParts } from './deps.ts';
import { ConsoleRefusal } from './refusal.ts';

const statuses: Record<ConsoleErrorCode, number> = {
  invalid_body: 400,
  signed_out: 401,
  link_not_valid: 401,
  passkey_refused: 401,
  oidc_refused: 401,
  cross_site: 403,
  operators_only: 403,
  not_found: 404,
  conflict: 409,
  body_too_large: 413,
  unknown_host: 421,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};

/** A long list of wrong values would otherwise be answered with one that is longer still. */
const mostDetails = 50;

export function createErrorHandler({ onError }: Pick<ConsoleApiParts, 'onError'>) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const refusal = toRefusal(error);
    if (refusal.code === 'internal') onError(error, request);
    return sendRefusal(reply, refusal);
  };
}

export function sendRefusal(reply: FastifyReply, { code, message, details }: ConsoleRefusal): FastifyReply {
  const answer: ConsoleError = { ok: false, error: message, code, ...(details !== undefined && { details }) };
  return reply.code(statuses[code]).send(answer);
}

function toRefusal(error: FastifyError): ConsoleRefusal {
  if (error instanceof ConsoleRefusal) return error;
  if (error instanceof StoreUnavailable)
    return new ConsoleRefusal('unavailable', 'The store does not answer. Try again in a moment.');
  // Whoever was let in had a data key a moment ago.
  if (error instanceof EncryptionKeyMissing)
    return new ConsoleRefusal('signed_out', 'This owner is no longer there, or cannot be read any more.');
  if (error.validation !== undefined)
    return new ConsoleRefusal('invalid_body', 'Something in the request is not as it should be.', detailsOf(error));
  if (error.statusCode === 413) return new ConsoleRefusal('body_too_large', 'The request is too large.');
  // What Fastify finds wrong with a request before any of ours sees it: no JSON, another content type.
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new ConsoleRefusal('invalid_body', 'The request cannot be understood: it must be JSON.');
  return new ConsoleRefusal('internal', 'Something went wrong on our side. The log of the service says what.');
}

function detailsOf({ validation = [] }: FastifyError): NonNullable<ConsoleError['details']> {
  return validation.slice(0, mostDetails).map(({ instancePath, params, message = 'is not valid' }) => {
    const path = [...instancePath.split('/').slice(1), params.missingProperty, params.additionalProperty];
    return { field: path.filter((part) => part !== undefined).join('.'), problem: message };
  });
}
