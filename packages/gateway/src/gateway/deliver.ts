import type { ChannelResult, DeliveryResult } from '../core/answer.ts';
import type { Plan } from '../core/plan.ts';
import type { Channel, Channels, Notification, SendOptions } from './ports.ts';

const nothingToDo: ChannelResult = { attempted: false, outcomes: [] };
const nobodyToTell: DeliveryResult = { push: nothingToDo, email: nothingToDo, mqtt: nothingToDo };

/** Tells every target of the plan, all channels at once. */
export async function deliver(
  channels: Channels,
  notification: Notification,
  plan: Plan,
  options: SendOptions,
): Promise<DeliveryResult> {
  if (plan.push.targets.length + plan.email.targets.length + plan.mqtt.targets.length === 0) return nobodyToTell;
  const send = <T>(channel: Channel<T>, targets: readonly T[]): ChannelResult | Promise<ChannelResult> =>
    targets.length === 0 ? nothingToDo : channel.send(notification, targets, options);
  const [push, email, mqtt] = await Promise.all([
    send(channels.push, plan.push.targets),
    send(channels.email, plan.email.targets),
    send(channels.mqtt, plan.mqtt.targets),
  ]);
  return { push, email, mqtt };
}
