// What is known about messages after their provider accepted them.
import { setTimeout as delay } from 'node:timers/promises';
import type { ChannelDefinition, ChannelDefinitions, DeliveryProgress, TargetReader } from '../core/channel.ts';
import type { Delivery, Store } from '../usecases/ports/index.ts';
import { targetReader } from './target-reader.ts';

const pollMs = 100;

/** Waits until a target has acknowledged a message, or until the timeout. null: the channel keeps no receipts. */
export async function waitForReceipt(
  { progress }: ChannelDefinition,
  read: TargetReader,
  { notificationId, target }: { notificationId: string; target: string },
  timeoutMs: number,
): Promise<DeliveryProgress | null> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const known = (await progress?.(read, notificationId, [target]))?.get(target) ?? null;
    if (known === null || known.state === 'delivered' || performance.now() >= deadline) return known;
    await delay(pollMs);
  }
}

/** Whether the target of a delivery has acknowledged it; false for channels that keep no receipts. */
export function createIsReceived(
  store: Pick<Store, 'devices' | 'pushTargets' | 'mqttQueues'>,
  definitions: ChannelDefinitions,
  keepsReceipts: (channel: string) => boolean,
): (delivery: Delivery) => Promise<boolean> {
  return async ({ ownerId, notificationId, channel, target }) => {
    const definition = definitions.find(({ name }) => name === channel);
    if (definition?.progress === undefined || !keepsReceipts(channel)) return false;
    const read = targetReader(store, { id: ownerId, email: null });
    return (await definition.progress(read, notificationId, [target])).get(target)?.state === 'delivered';
  };
}
