// What happened → what the caller is told, section 2.2.
import { type ChannelReport, kind, type NormalizedRequest, type StoreReason, type Warning } from '@tocsin/contract';
import type { Plan } from './plan.ts';

/** How an attempt to reach one target ended; `retry` and `rejected` differ in whether another try makes sense. */
export type Outcome =
  | { kind: 'sent' }
  | { kind: 'retry'; error: string; retryAfterMs?: number }
  | { kind: 'gone'; error: string }
  | { kind: 'rejected'; error: string };

/** One outcome per target of the plan, in its order; `attempted` is false where no provider was there to be asked. */
export interface ChannelResult {
  attempted: boolean;
  outcomes: readonly Outcome[];
}

export interface DeliveryResult {
  push: ChannelResult;
  email: ChannelResult;
  mqtt: ChannelResult;
}

export function report(
  request: NormalizedRequest,
  plan: Plan,
  storeReason: StoreReason | null,
  result: DeliveryResult,
): ChannelReport {
  const pushFailed = countFailed(result.push);
  const emailSent = result.email.outcomes.some(isSent);
  const mqttFailed = countFailed(result.mqtt);
  const warnings: Warning[] = [];
  if (mqttFailed > 0) warnings.push('mqtt_publish_failed_partial');
  if (pushFailed > 0) warnings.push('push_failed_partial');
  if (plan.email.enabled && !emailSent) warnings.push('email_send_failed');
  return {
    stored: storeReason === null,
    ...(storeReason !== null && { storeReason }),
    payloadPreview: {
      type: kind,
      title: request.title,
      body: request.body,
      source: request.source,
      category: request.category,
      severity: request.severity,
      dataKeys: Object.keys(request.data),
    },
    pushSent: result.push.outcomes.some(isSent),
    pushAttempted: result.push.attempted ? result.push.outcomes.length : 0,
    pushEnabled: plan.push.enabled,
    emailEnabled: plan.email.enabled,
    emailSent,
    mqttPublishedCount: result.mqtt.outcomes.length - mqttFailed,
    mqttFailedCount: mqttFailed,
    mqttSkipped: plan.mqtt.skipReason !== null,
    ...(plan.mqtt.skipReason !== null && { mqttSkipReason: plan.mqtt.skipReason }),
    mqttError: firstError(result.mqtt),
    warnings,
    mqttEnabled: plan.mqtt.enabled,
  };
}

function isSent(outcome: Outcome): boolean {
  return outcome.kind === 'sent';
}

function countFailed(result: ChannelResult): number {
  return result.outcomes.filter((outcome) => !isSent(outcome)).length;
}

function firstError(result: ChannelResult): string | null {
  for (const outcome of result.outcomes) if (outcome.kind !== 'sent') return outcome.error;
  return null;
}
