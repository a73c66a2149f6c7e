import { type ErrorCode, kind } from '@tocsin/contract';
import { Refusal } from '../core/refusal.ts';
import type { Accepted, AcceptRequest } from '../usecases/accept.ts';
import { errorAnswer } from './errors.ts';

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  /** Default: application/json. */
  contentType?: string;
  /** Error code of a refusal, for the log. */
  code?: ErrorCode;
}

/** With a trailing line break, because most responses are read in a terminal. */
export function toText(body: object): string {
  return `${JSON.stringify(body)}\n`;
}

export function refusalAnswer(refusal: Refusal, requestId: string, now: number): Answer {
  const { status, body } = errorAnswer(refusal, requestId, now);
  return { status, headers: refusal.headers, body: toText(body), code: refusal.code };
}

/** Response to an accepted request. strictDelivery turns a failed publish into a 502; the notification stays stored. */
export function acceptedAnswer({ request, requestId }: AcceptRequest, accepted: Accepted, now: number): Answer {
  if (request.strictDelivery && accepted.mqttFailedCount > 0) {
    return refusalAnswer(new Refusal('mqtt_publish_failed', { report: accepted }), requestId, now);
  }
  const timestamp = new Date(now).toISOString();
  const ntfy = request.ntfy && { time: Math.floor(now / 1000), event: 'message', ...request.ntfy };
  return { status: 200, body: toText({ ok: true, kind, ...accepted, requestId, timestamp, ...ntfy }) };
}
