// An answer of the public API, in words: what happened on each channel, or why it was refused.
import type { ErrorAnswer, SuccessAnswer } from '@tocsin/contract/types';
import type { PublicAnswer } from '../../api/public-api.ts';
import { text } from '../../text/index.ts';

const words = text.keys;

export interface AnswerWords {
  isGood: boolean;
  headline: string;
  lines: string[];
}

export function answerInWords({ status, answer }: PublicAnswer): AnswerWords {
  if (answer === null || typeof answer.ok !== 'boolean') {
    return { isGood: false, headline: words.notOurs(status), lines: [] };
  }
  return answer.ok ? acceptedInWords(answer) : refusedInWords(status, answer);
}

function acceptedInWords(answer: SuccessAnswer): AnswerWords {
  const lines = [
    answer.stored ? words.stored : words.storedNot,
    pushInWords(answer),
    emailInWords(answer),
    ...mqttInWords(answer),
    ...(answer.warnings.includes('quiet_hours') ? [words.quietHours] : []),
    ...(answer.warnings.includes('redelivery_scheduled') ? [words.redelivery] : []),
  ];
  return { isGood: true, headline: words.accepted, lines };
}

function refusedInWords(status: number, { error, code, details = [] }: ErrorAnswer): AnswerWords {
  const lines = details.map(({ field, problem }) => words.rejectedDetail(field, problem));
  if (code === 'origin_not_allowed') lines.push(words.rejectedOrigin);
  return { isGood: false, headline: words.rejected(status, error), lines };
}

function pushInWords({ pushEnabled, pushSent, pushAttempted }: SuccessAnswer): string {
  if (!pushEnabled) return words.pushOff;
  if (pushSent) return words.pushSent(pushAttempted);
  return pushAttempted === 0 ? words.pushNone : words.pushFailed;
}

function emailInWords({ emailEnabled, emailSent, emailSkipReason }: SuccessAnswer): string {
  if (emailSkipReason !== undefined) return words.emailSkipped[emailSkipReason];
  if (!emailEnabled) return words.emailOff;
  return emailSent ? words.emailSent : words.emailFailed;
}

function mqttInWords({ mqttSkipped, mqttSkipReason, mqttPublishedCount, mqttError }: SuccessAnswer): string[] {
  if (mqttSkipped) return [words.mqttSkipped[mqttSkipReason ?? 'no_active_devices']];
  return [
    ...(mqttPublishedCount > 0 ? [words.mqttSent(mqttPublishedCount)] : []),
    ...(mqttError === null ? [] : [words.mqttFailed(mqttError)]),
  ];
}
