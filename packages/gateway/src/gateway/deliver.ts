import type { DeliveryResult, Outcome } from '../core/answer.ts';
import type { Plan } from '../core/plan.ts';
import { createDeadline } from './deadline.ts';
import type { Channel, Channels, Notification, SendOptions } from './ports.ts';

const noOutcomes: readonly Outcome[] = [];
const nobodyToTell: DeliveryResult = { push: noOutcomes, email: noOutcomes, mqtt: noOutcomes };

/** The whole request keeps to this, whatever the channels' own deadlines are. */
const budgetMs = 10_000;

/** Tells every target of the plan, all channels at once. */
export async function deliver(
  channels: Channels,
  notification: Notification,
  plan: Plan,
  options: SendOptions,
): Promise<DeliveryResult> {
  if (plan.push.targets.length + plan.email.targets.length + plan.mqtt.targets.length === 0) return nobodyToTell;
  using deadline = createDeadline(budgetMs);
  const send = <T>(channel: Channel<T>, targets: readonly T[]): readonly Outcome[] | Promise<readonly Outcome[]> =>
    targets.length === 0 ? noOutcomes : channel.send(notification, targets, options, deadline.signal);
  const [push, email, mqtt] = await Promise.all([
    send(channels.push, plan.push.targets),
    send(channels.email, plan.email.targets),
    send(channels.mqtt, plan.mqtt.targets),
  ]);
  return { push, email, mqtt };
}
