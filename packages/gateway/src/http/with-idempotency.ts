// With an Idempotency-Key a request is processed once; repeating it returns the stored response.
import type { ErrorCode } from '@tocsin/contract';
import { Refusal } from '../core/refusal.ts';
import type { Accept, AcceptRequest } from '../usecases/accept.ts';
import type { Idempotency } from '../usecases/idempotency.ts';
import type { IdempotencyClaim, StoredResponse } from '../usecases/ports/index.ts';
import { type Answer, acceptedAnswer } from './response.ts';

export interface IdempotencyDeps {
  accept: Accept;
  idempotency: Idempotency;
  now: () => number;
}

const replayed = { 'Idempotency-Replayed': 'true' };

export async function withIdempotency(
  deps: IdempotencyDeps,
  accepting: AcceptRequest,
  claim: IdempotencyClaim,
): Promise<Answer> {
  const accepted = await deps.accept(accepting).catch((error: unknown) => error as Error);
  if (accepted === 'duplicate') {
    const stored = await replay(deps, accepting, claim);
    if (stored !== null) return stored;
    throw new Refusal('idempotency_in_progress', { headers: { 'Retry-After': '1' } });
  }
  if (accepted instanceof Error) {
    // A request that was accepted before gets the stored response, even if its device was deleted or paused since, or
    // the quota is exceeded.
    const stored = concernsOnlyNew(accepted) ? await replay(deps, accepting, claim) : null;
    if (stored !== null) return stored;
    throw accepted;
  }
  const answer = acceptedAnswer(accepting, accepted, deps.now());
  if (accepted.stored) await deps.idempotency.remember(accepting.ownerId, claim, toStoredResponse(answer));
  return answer;
}

function concernsOnlyNew(error: Error): boolean {
  return error instanceof Refusal && newRequestsOnly.has(error.code);
}

const newRequestsOnly = new Set<ErrorCode>(['device_not_found', 'device_not_publishable', 'quota_exceeded']);

async function replay(
  { idempotency, now }: IdempotencyDeps,
  accepting: AcceptRequest,
  claim: IdempotencyClaim,
): Promise<Answer | null> {
  const recalled = await idempotency.recall(accepting.ownerId, claim, accepting.request);
  if (recalled === null) return null;
  if ('answer' in recalled) return { ...recalled.answer, headers: replayed };
  const answer = acceptedAnswer(accepting, recalled.interrupted, now());
  await idempotency.remember(accepting.ownerId, claim, toStoredResponse(answer));
  return { ...answer, headers: replayed };
}

function toStoredResponse({ status, body = '' }: Answer): StoredResponse {
  return { status, body };
}
