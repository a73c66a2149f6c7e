// With an Idempotency-Key a request is done once, however often it comes; whoever comes again hears the first answer.
import { Refusal } from '../core/refusal.ts';
import type { Accept, AcceptRequest } from '../gateway/accept.ts';
import type { Idempotency } from '../gateway/idempotency.ts';
import type { FirstAnswer, IdempotencyClaim } from '../gateway/ports.ts';
import { type Answer, acceptedAnswer } from './answer.ts';

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
  const earlier = await recall(parts, accepting, claim);
  if (earlier !== null) return earlier;
  const accepted = await parts.accept(accepting);
  if (accepted === 'duplicate') {
    // Another request under this key was faster.
    const first = await recall(parts, accepting, claim);
    if (first !== null) return first;
    throw new Refusal('idempotency_in_progress', { headers: { 'Retry-After': '1' } });
  }
  const answer = acceptedAnswer(accepting, accepted, parts.now());
  if (accepted.stored) await parts.idempotency.remember(accepting.ownerId, claim, toFirst(answer));
  return answer;
}

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

function toFirst({ status, body = '' }: Answer): FirstAnswer {
  return { status, body };
}
