// The push targets of an owner: browsers and apps. Pure.
import type { FlatReport, PlannedChannel, TargetReader, UnavailableTarget } from '../../core/channel.ts';
import { isAccepted, type Outcome, wasAttempted } from '../../core/outcome.ts';
import type { PushTarget, Recipients } from '../../core/recipients.ts';

export const providerNames = { webpush: 'Web Push', fcm: 'FCM', apns: 'APNs' } as const satisfies Record<
  PushTarget['provider'],
  string
>;

export function resolvePushTarget({ pushTargets }: Recipients, targetId: string): PushTarget | UnavailableTarget {
  return pushTargets.find(({ id }) => id === targetId) ?? { kind: 'gone', error: 'The push target was deleted' };
}

export async function describePushTargets(read: TargetReader): Promise<ReadonlyMap<string, string>> {
  const targets = await read.pushTargets();
  return new Map(
    targets.map(({ id, label, provider }) => [id, label ?? providerNames[provider as PushTarget['provider']]]),
  );
}

export function reportPush({ enabled }: PlannedChannel, outcomes: readonly Outcome[]): FlatReport {
  return {
    fields: {
      pushSent: outcomes.some(isAccepted),
      pushAttempted: outcomes.filter(wasAttempted).length,
      pushEnabled: enabled,
    },
    warnings: outcomes.every(isAccepted) ? [] : ['push_failed_partial'],
  };
}
