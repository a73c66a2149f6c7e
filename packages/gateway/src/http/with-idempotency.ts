// With an Idempotency-Key a request is done once, however often it comes; whoever comes again hears the first answer.
import type { ErrorCode } from '@tocsin/contract';
import { Refusal } from '../core/refusal.ts';
import type { Accept, AcceptRequest } from '../usecases/accept.ts';
import type { Idempotency } from '../usecases/idempotency.ts';
import type { IdempotencyClaim, StoredResponse } from '../usecases/ports/index.ts';
import { type Answer, acceptedAnswer } from './response.ts';

export interface AnswerOnceParts {
  accept: Accept;
  idempotency: Idempotency;
  now: () => number;
}

const replayed = { 'Idempotency-Replayed': 'true' };

export async function answerOnce(
  parts: AnswerOnceParts,
  accepting: AcceptRequest,
  claim: IdempotencyClaim,
): Promise<Answer> {
  const accepted = await parts.accept(accepting).catch((error: unknown) => error as Error);
  if (accepted === 'duplicate') {
    const first = await recall(parts, accepting, claim);
    if (first !== null) return first;
    throw new Refusal('idempotency_in_progress', { headers: { 'Retry-After': '1' } });
  }
  if (accepted instanceof Error) {
    // What was accepted once is answered as then, even where its device is gone or paused since, or the quota used up.
    const first = concernsOnlyNew(accepted) ? await recall(parts, accepting, claim) : null;
    if (first !== null) return first;
    throw accepted;
  }
  const answer = acceptedAnswer(accepting, accepted, parts.now());
  if (accepted.stored) await parts.idempotency.remember(accepting.ownerId, claim, toFirst(answer));
  return answer;
}

function concernsOnlyNew(error: Error): boolean {
  return error instanceof Refusal && newRequestsOnly.has(error.code);
}

const newRequestsOnly = new Set<ErrorCode>(['device_not_found', 'device_not_publishable', 'quota_exceeded']);

async function recall(
  { idempotency, now }: AnswerOnceParts,
  accepting: AcceptRequest,
  claim: IdempotencyClaim,
): Promise<Answer | null> {
  const recalled = await idempotency.recall(accepting.ownerId, claim, accepting.request);
  if (recalled === null) return null;
  if ('answer' in recalled) return { ...recalled.answer, headers: replayed };
  const answer = acceptedAnswer(accepting, recalled.interrupted, now());
  await idempotency.remember(accepting.ownerId, claim, toFirst(answer));
  return { ...answer, headers: replayed };
}

function toFirst({ status, body = '' }: Answer): StoredResponse {
  return { status, body };
}
