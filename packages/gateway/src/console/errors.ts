// Turns every error of a route into a response. Errors that are not known here are faults of the service.
import { consoleErrorStatus } from '@tocsin/contract/console/errors';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { EncryptionKeyMissing, StoreUnavailable } from '../usecases/ports/index.ts';
import type { ConsoleApiDeps } from './deps.ts';
import { ConsoleRefusal, internalError, invalidBody, routeNotFound, storeUnavailable, toBody } from './refusal.ts';
import { fieldProblems } from './validation.ts';

export function createErrorHandler({ onError }: Pick<ConsoleApiDeps, 'onError'>) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const refusal = toRefusal(error);
    if (refusal.code === 'internal') onError(error, request);
    return sendRefusal(reply, refusal);
  };
}

export function sendRefusal(reply: FastifyReply, refusal: ConsoleRefusal): FastifyReply {
  return reply.code(consoleErrorStatus[refusal.code]).send(toBody(refusal));
}

function toRefusal(error: FastifyError): ConsoleRefusal {
  if (error instanceof ConsoleRefusal) return error;
  if (error instanceof StoreUnavailable) return storeUnavailable();
  // The session was valid a moment ago, so the owner has just been deleted.
  if (error instanceof EncryptionKeyMissing)
    return new ConsoleRefusal('signed_out', 'This owner was deleted, or its data can no longer be decrypted.');
  if (error.validation !== undefined)
    return error.validationContext === 'params' ? routeNotFound() : invalidBody(fieldProblems(error.validation));
  if (error.statusCode === 413) return new ConsoleRefusal('body_too_large', 'The request is too large.');
  // Fastify refuses requests that are not JSON before a handler sees them.
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new ConsoleRefusal('invalid_body', 'The request cannot be parsed: it must be JSON.');
  return internalError();
}
