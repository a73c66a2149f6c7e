import type { DeliveryResult, Outcome } from '../core/answer.ts';
import type { Plan } from '../core/plan.ts';
import { createDeadline } from './deadline.ts';
import type { Channel, Channels, Notification, SendOptions } from './ports.ts';

const noOutcomes: readonly Outcome[] = [];
const nobodyToTell: DeliveryResult = { push: noOutcomes, email: noOutcomes, mqtt: noOutcomes };

/** The whole request keeps to this, whatever the channels' own deadlines are. */
const budgetMs = 10_000;

/** The part of a plan that says whom to tell. */
export type Targets = { [C in keyof Plan]: Pick<Plan[C], 'targets'> };

/** Tells every target, all channels at once: at the first attempt, and whenever some of them are tried again. */
export async function deliver(
  channels: Channels,
  notification: Notification,
  { push: toPush, email: toMail, mqtt: toPublish }: Targets,
  options: SendOptions,
): Promise<DeliveryResult> {
  if (toPush.targets.length + toMail.targets.length + toPublish.targets.length === 0) return nobodyToTell;
  using deadline = createDeadline(budgetMs);
  const send = <T>(channel: Channel<T>, targets: readonly T[]): readonly Outcome[] | Promise<readonly Outcome[]> =>
    targets.length === 0 ? noOutcomes : channel.send(notification, targets, options, deadline.signal);
  const [push, email, mqtt] = await Promise.all([
    send(channels.push, toPush.targets),
    send(channels.email, toMail.targets),
    send(channels.mqtt, toPublish.targets),
  ]);
  return { push, email, mqtt };
}
