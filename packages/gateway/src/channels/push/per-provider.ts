import type { Channel } from '../../core/channel.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { PushTarget } from '../../core/recipients.ts';
import { type GuardOptions, guard } from '../../delivery/guard.ts';

type Provider = PushTarget['provider'];

/** A guard for each provider, so that one that is down does not block the others. All have the same timeout. */
export function guardPerProvider(
  channel: Channel<PushTarget>,
  guardOptions: (provider: Provider) => GuardOptions,
): Channel<PushTarget> {
  const guarded: Record<Provider, Channel<PushTarget>> = {
    webpush: guard(channel, guardOptions('webpush')),
    fcm: guard(channel, guardOptions('fcm')),
    apns: guard(channel, guardOptions('apns')),
  };
  const { timeoutMs } = guardOptions('webpush');
  return {
    timeoutMs: () => timeoutMs,

    async send(notification, targets, options, signal) {
      const outcomes = new Map<PushTarget, Outcome>();
      const groups = Map.groupBy(targets, ({ provider }) => provider);
      await Promise.all(
        [...groups].map(async ([provider, group]) => {
          const results = await guarded[provider].send(notification, group, options, signal);
          for (const [index, target] of group.entries()) outcomes.set(target, results[index] as Outcome);
        }),
      );
      return targets.map((target) => outcomes.get(target) as Outcome);
    },
  };
}
