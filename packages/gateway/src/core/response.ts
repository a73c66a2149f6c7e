// What happened → what the caller is told, section 2.2.
import {
  type ChannelReport,
  type EmailSkipReason,
  kind,
  type NormalizedRequest,
  type StoreReason,
  type Warning,
} from '@tocsin/contract';
import type { Plan } from './plan.ts';

/** How an attempt to reach one target ended. */
export type Outcome = Sent | NotSent;

export interface Sent {
  kind: 'sent';
  /** It waits in the queue of a device that has never connected. */
  neverConnected?: true;
}

export interface NotSent {
  /** `retry`: another try may work. `gone`: the target is no more. `rejected`: this message will never be taken. */
  kind: 'retry' | 'gone' | 'rejected';
  /** For the caller and the log: what happened, without secrets and without what the provider sent in reply. */
  error: string;
  /** With `retry`, where the provider said when. */
  retryAfterMs?: number;
  /** With `retry`: the provider itself cannot be reached, so other targets will fare alike. */
  isUnreachable?: true;
  /** With `retry`: this target takes nothing more for now, so what is behind it has to wait too. Others are not concerned. */
  isTargetFull?: true;
  /** The provider was not asked: there is none, or it is known to be down. */
  wasAsked?: false;
  /** The server has no provider for this channel. */
  isNotConfigured?: true;
}

/** One outcome per target of the plan, in its order. */
export interface DeliveryResult {
  push: readonly Outcome[];
  email: readonly Outcome[];
  mqtt: readonly Outcome[];
}

export function report(
  request: NormalizedRequest,
  plan: Plan,
  storeReason: StoreReason | null,
  result: DeliveryResult,
  isRedeliveryScheduled: boolean,
): ChannelReport {
  const pushFailed = countFailed(result.push);
  const emailSent = result.email.some(isSent);
  const mqttFailed = countFailed(result.mqtt);
  const emailSkipReason = plan.email.skipReason ?? notConfigured(result.email);
  const warnings: Warning[] = [];
  if (mqttFailed > 0 && !request.strictDelivery) warnings.push('mqtt_publish_failed_partial');
  if (result.mqtt.some((outcome) => isSent(outcome) && outcome.neverConnected)) warnings.push('mqtt_no_subscriber');
  if (pushFailed > 0) warnings.push('push_failed_partial');
  if (plan.email.enabled && !emailSent) warnings.push('email_send_failed');
  if (isRedeliveryScheduled) warnings.push('redelivery_scheduled');
  if (plan.push.isHushed || plan.email.isHushed || plan.mqtt.isHushed) warnings.push('quiet_hours');
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
    pushSent: result.push.some(isSent),
    pushAttempted: result.push.filter(wasAsked).length,
    pushEnabled: plan.push.enabled,
    emailEnabled: plan.email.enabled,
    emailSent,
    ...(emailSkipReason !== null && { emailSkipReason }),
    mqttPublishedCount: result.mqtt.length - mqttFailed,
    mqttFailedCount: mqttFailed,
    mqttSkipped: plan.mqtt.skipReason !== null,
    ...(plan.mqtt.skipReason !== null && { mqttSkipReason: plan.mqtt.skipReason }),
    mqttError: firstError(result.mqtt),
    warnings,
    mqttEnabled: plan.mqtt.enabled,
  };
}

function notConfigured(outcomes: readonly Outcome[]): EmailSkipReason | null {
  return outcomes.some((outcome) => !isSent(outcome) && outcome.isNotConfigured) ? 'not_configured' : null;
}

function isSent(outcome: Outcome): outcome is Sent {
  return outcome.kind === 'sent';
}

function wasAsked(outcome: Outcome): boolean {
  return isSent(outcome) || outcome.wasAsked !== false;
}

function countFailed(outcomes: readonly Outcome[]): number {
  return outcomes.filter((outcome) => !isSent(outcome)).length;
}

function firstError(outcomes: readonly Outcome[]): string | null {
  for (const outcome of outcomes) if (!isSent(outcome)) return outcome.error;
  return null;
}
