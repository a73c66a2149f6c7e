// Describes a response of the public API: the result on each channel, or why the request was rejected.
import type { ErrorResponse, SuccessResponse } from '@tocsin/contract/types';
import type { PublicResponse } from '../../api/public-api.ts';
import { text } from '../../text/index.ts';

const words = text.keys;

export interface ResponseDescription {
  isGood: boolean;
  headline: string;
  lines: string[];
}

export function describeResponse({ status, body }: PublicResponse): ResponseDescription {
  if (body === null || typeof body.ok !== 'boolean') {
    return { isGood: false, headline: words.notOurs(status), lines: [] };
  }
  return body.ok ? describeAccepted(body) : describeRejected(status, body);
}

function describeAccepted(body: SuccessResponse): ResponseDescription {
  const lines = [
    body.stored ? words.stored : words.storedNot,
    describePush(body),
    describeEmail(body),
    ...describeMqtt(body),
    ...(body.warnings.includes('quiet_hours') ? [words.quietHours] : []),
    ...(body.warnings.includes('redelivery_scheduled') ? [words.redelivery] : []),
  ];
  return { isGood: true, headline: words.accepted, lines };
}

function describeRejected(status: number, { error, code, details = [] }: ErrorResponse): ResponseDescription {
  const lines = details.map(({ field, problem }) => words.rejectedDetail(field, problem));
  if (code === 'origin_not_allowed') lines.push(words.rejectedOrigin);
  return { isGood: false, headline: words.rejected(status, error), lines };
}

function describePush({ pushEnabled, pushSent, pushAttempted }: SuccessResponse): string {
  if (!pushEnabled) return words.pushOff;
  if (pushSent) return words.pushSent(pushAttempted);
  return pushAttempted === 0 ? words.pushNone : words.pushFailed;
}

function describeEmail({ emailEnabled, emailSent, emailSkipReason }: SuccessResponse): string {
  if (emailSkipReason !== undefined) return words.emailSkipped[emailSkipReason];
  if (!emailEnabled) return words.emailOff;
  return emailSent ? words.emailSent : words.emailFailed;
}

function describeMqtt({ mqttSkipped, mqttSkipReason, mqttPublishedCount, mqttError }: SuccessResponse): string[] {
  if (mqttSkipped) return [words.mqttSkipped[mqttSkipReason ?? 'no_active_devices']];
  return [
    ...(mqttPublishedCount > 0 ? [words.mqttSent(mqttPublishedCount)] : []),
    ...(mqttError === null ? [] : [words.mqttFailed(mqttError)]),
  ];
}
