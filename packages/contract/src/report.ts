// The flat fields of a response in the order of the contract: responses stay the same byte for byte.
import type { ChannelReport, Warning } from './types.ts';

export const warnings = [
  'mqtt_publish_failed_partial',
  'mqtt_no_subscriber',
  'push_failed_partial',
  'email_send_failed',
  'redelivery_scheduled',
  'quiet_hours',
] as const satisfies readonly Warning[];

/** `report` has every required field; channels write theirs. */
export function orderReport(report: Partial<ChannelReport>): ChannelReport {
  const known = report as ChannelReport;
  return {
    stored: known.stored,
    ...(known.storeReason !== undefined && { storeReason: known.storeReason }),
    payloadPreview: known.payloadPreview,
    pushSent: known.pushSent,
    pushAttempted: known.pushAttempted,
    pushEnabled: known.pushEnabled,
    emailEnabled: known.emailEnabled,
    emailSent: known.emailSent,
    ...(known.emailSkipReason !== undefined && { emailSkipReason: known.emailSkipReason }),
    mqttPublishedCount: known.mqttPublishedCount,
    mqttFailedCount: known.mqttFailedCount,
    mqttSkipped: known.mqttSkipped,
    ...(known.mqttSkipReason !== undefined && { mqttSkipReason: known.mqttSkipReason }),
    mqttError: known.mqttError,
    warnings: known.warnings,
    mqttEnabled: known.mqttEnabled,
    ...(known.channels !== undefined && { channels: known.channels }),
  };
}

export function orderWarnings(found: readonly Warning[]): Warning[] {
  return found.length < 2 ? [...found] : warnings.filter((warning) => found.includes(warning));
}
