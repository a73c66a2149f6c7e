// What happened → what the caller is told, section 2.2.
import {
  type ChannelReport,
  type EmailSkipReason,
  kind,
  type NormalizedRequest,
  type StoreReason,
  type Warning,
} from '@tocsin/contract';
import { isAccepted, type Outcome, wasAttempted } from './outcome.ts';
import type { Plan } from './plan.ts';

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
  const emailSent = result.email.some(isAccepted);
  const mqttFailed = countFailed(result.mqtt);
  const emailSkipReason = plan.email.skipReason ?? notConfigured(result.email);
  const warnings: Warning[] = [];
  if (mqttFailed > 0 && !request.strictDelivery) warnings.push('mqtt_publish_failed_partial');
  if (result.mqtt.some((outcome) => outcome.kind === 'queued')) warnings.push('mqtt_no_subscriber');
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
    pushSent: result.push.some(isAccepted),
    pushAttempted: result.push.filter(wasAttempted).length,
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
  const isMissing = outcomes.some((outcome) => outcome.kind === 'rejected' && outcome.reason === 'not_configured');
  return isMissing ? 'not_configured' : null;
}

function countFailed(outcomes: readonly Outcome[]): number {
  return outcomes.filter((outcome) => !isAccepted(outcome)).length;
}

function firstError(outcomes: readonly Outcome[]): string | null {
  for (const outcome of outcomes) if (!isAccepted(outcome)) return outcome.error;
  return null;
}
