import { createDeadline } from '../core/deadline.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Plan } from '../core/plan.ts';
import type { DeliveryResult } from '../core/response.ts';
import type { Channel, ChannelName, Channels, Notification, SendOptions } from '../usecases/ports/index.ts';

const noOutcomes: readonly Outcome[] = [];
const nobodyToTell: DeliveryResult = { push: noOutcomes, email: noOutcomes, mqtt: noOutcomes };

/** No send takes longer, whatever the channels' own deadlines are. */
export const longestSendMs = 10_000;

/** The part of a plan that says whom to tell. */
export type Targets = { [C in keyof Plan]: Pick<Plan[C], 'targets'> };

/** Tells every target, all channels at once, and waits for all of them. */
export async function deliver(
  channels: Channels,
  notification: Notification,
  targets: Targets,
  options: SendOptions,
): Promise<DeliveryResult> {
  if (countTargets(targets) === 0) return nobodyToTell;
  using deadline = createDeadline(longestSendMs);
  const [push, email, mqtt] = await Promise.all([
    send(channels.push, targets.push.targets, notification, options, deadline.signal),
    send(channels.email, targets.email.targets, notification, options, deadline.signal),
    send(channels.mqtt, targets.mqtt.targets, notification, options, deadline.signal),
  ]);
  return { push, email, mqtt };
}

export interface Budget {
  ms: number;
  /** Sends of these channels go on after the budget; those of others are aborted. */
  goesOn: (channel: ChannelName) => boolean;
  /** Hears of the outcomes of each channel as soon as they are known, within the budget. */
  onOutcomes: (channel: ChannelName, outcomes: readonly Outcome[]) => void;
}

export interface InTime {
  /** `null` for channels that were still sending when the budget ran out. */
  result: { [C in ChannelName]: readonly Outcome[] | null };
  /** The end of those; null where all are known. */
  late: Promise<DeliveryResult> | null;
}

/** As `deliver`, but waits no longer than the budget. The sends begin before this returns. */
export function deliverWithin(
  channels: Channels,
  notification: Notification,
  targets: Targets,
  options: SendOptions,
  budget: Budget,
): Promise<InTime> {
  if (countTargets(targets) === 0) return Promise.resolve({ result: nobodyToTell, late: null });
  const { promise, resolve, reject } = Promise.withResolvers<InTime>();
  const known: InTime['result'] = { push: null, email: null, mqtt: null };
  const lasting = createDeadline(longestSendMs);
  const brief = createDeadline(budget.ms);
  let isOver = false;

  const begin = <Target>(name: ChannelName, channel: Channel<Target>, to: readonly Target[]) => {
    const { signal } = budget.goesOn(name) ? lasting : brief;
    const sending = send(channel, to, notification, options, signal);
    if (to.length === 0) known[name] = noOutcomes;
    return Promise.resolve(sending).then((outcomes) => {
      if (!isOver) {
        known[name] = outcomes;
        if (to.length > 0) budget.onOutcomes(name, outcomes);
      }
      return outcomes;
    });
  };
  const sends = [
    begin('push', channels.push, targets.push.targets),
    begin('email', channels.email, targets.email.targets),
    begin('mqtt', channels.mqtt, targets.mqtt.targets),
  ] as const;
  const all = Promise.all(sends)
    .then(([push, email, mqtt]) => ({ push, email, mqtt }))
    .finally(() => {
      lasting[Symbol.dispose]();
      brief[Symbol.dispose]();
    });
  all.then((result) => resolve({ result, late: null }), reject);
  brief.signal.addEventListener('abort', () => {
    // Those that were aborted just now end at once, and are waited for.
    const ending = sends.filter(
      (_, index) => !budget.goesOn((['push', 'email', 'mqtt'] as const)[index] as ChannelName),
    );
    void Promise.all(ending).then(() => {
      isOver = true;
      resolve({ result: known, late: all });
    }, reject);
  });
  return promise;
}

function send<Target>(
  channel: Channel<Target>,
  targets: readonly Target[],
  notification: Notification,
  options: SendOptions,
  signal: AbortSignal,
): readonly Outcome[] | Promise<readonly Outcome[]> {
  return targets.length === 0 ? noOutcomes : channel.send(notification, targets, options, signal);
}

function countTargets({ push, email, mqtt }: Targets): number {
  return push.targets.length + email.targets.length + mqtt.targets.length;
}
