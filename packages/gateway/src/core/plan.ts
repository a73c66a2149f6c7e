// The targets of a notification, by channel. Pure: recipients in, plan out, or the request is refused.
import type { NormalizedRequest } from '@tocsin/contract';
import type { ChannelDefinition, ChannelDefinitions, PlannedChannel } from './channel.ts';
import { isQuiet, type QuietHours, quietSpanOf } from './quiet-hours.ts';
import type { Recipients } from './recipients.ts';

/** One entry per channel that takes part, in the order of the registry. */
export type Plan = readonly PlannedChannel[];

/**
 * Whether requests are planned for the channel. One that is neither configured nor part of the contract would add a
 * rejected target to every response.
 */
export function takesPart({ name, report }: ChannelDefinition, isConfigured: IsConfigured): boolean {
  return report !== undefined || isConfigured(name);
}

export type IsConfigured = (channel: string) => boolean;

export function plan(
  channels: ChannelDefinitions,
  request: NormalizedRequest,
  recipients: Recipients,
  now: number,
): Plan {
  const planned = channels.map((channel) => withoutDisabled(channel.plan(request, recipients), request));
  const { quietHours } = recipients;
  if (quietHours === null || request.content.severity === 'critical') return planned;
  return applyQuietHours(planned, quietHours, now);
}

function withoutDisabled(planned: PlannedChannel, { disabledChannels = [] }: NormalizedRequest): PlannedChannel {
  if (!disabledChannels.includes(planned.channel.name)) return planned;
  return { ...planned, enabled: false, targets: [], skipReason: 'disabled_by_request' };
}

/** Removes the targets of channels that are quiet now. They are not sent later: the notification is in the inbox. */
function applyQuietHours(plan: Plan, quietHours: QuietHours, now: number): Plan {
  return plan.map((planned) => {
    if (planned.targets.length === 0 || planned.ignoresQuietHours) return planned;
    if (!isQuiet(quietSpanOf(quietHours, planned.channel.name), quietHours.timeZone, now)) return planned;
    return { ...planned, targets: [], skipReason: 'quiet_hours', isMuted: true };
  });
}
