// The response to an accepted request.
import {
  type AcceptedContent,
  type ChannelReport,
  EncodedData,
  kind,
  type NormalizedRequest,
  orderReport,
  orderWarnings,
  type StoreReason,
  type TargetReport,
  type Warning,
} from '@tocsin/contract';
import { isAccepted, kindOf, type Outcome } from './outcome.ts';
import type { Plan } from './plan.ts';

/** One outcome per planned target of a channel, in its order; channels without targets may be missing. */
export type DeliveryResult = Readonly<Record<string, readonly Outcome[]>>;

const noOutcomes: readonly Outcome[] = [];

export function outcomesOf(result: DeliveryResult, channel: string): readonly Outcome[] {
  return result[channel] ?? noOutcomes;
}

export function report(
  request: NormalizedRequest,
  plan: Plan,
  storeReason: StoreReason | null,
  result: DeliveryResult,
  isRetryScheduled: boolean,
): ChannelReport {
  const warnings: Warning[] = [];
  const flat: Partial<ChannelReport> = {};
  let others: TargetReport[] | null = null;
  let isMuted = false;
  for (const planned of plan) {
    const { channel, targets } = planned;
    const outcomes = outcomesOf(result, channel.name);
    isMuted ||= planned.isMuted === true;
    if (channel.report === undefined) {
      others ??= [];
      for (const [index, { id }] of targets.entries()) {
        const outcome = outcomes[index];
        if (outcome !== undefined) others.push(targetReport(channel.name, id, outcome));
      }
      continue;
    }
    const reported = channel.report(planned, outcomes, request);
    Object.assign(flat, reported.fields);
    warnings.push(...reported.warnings);
  }
  if (isRetryScheduled) warnings.push('redelivery_scheduled');
  if (isMuted) warnings.push('quiet_hours');
  flat.stored = storeReason === null;
  if (storeReason !== null) flat.storeReason = storeReason;
  flat.payloadPreview = {
    type: kind,
    title: request.content.title,
    body: request.content.body,
    source: request.content.source,
    category: request.content.category,
    severity: request.content.severity,
    dataKeys: keysOf(request.content.data),
  };
  flat.warnings = orderWarnings(warnings);
  if (others !== null) flat.channels = others;
  return orderReport(flat);
}

function keysOf(data: AcceptedContent['data']): string[] {
  return data instanceof EncodedData ? [...data.keys] : Object.keys(data);
}

function targetReport(channel: string, target: string, outcome: Outcome): TargetReport {
  const reported = { channel, target, outcome: kindOf(outcome) };
  return isAccepted(outcome) ? reported : { ...reported, error: outcome.error };
}
