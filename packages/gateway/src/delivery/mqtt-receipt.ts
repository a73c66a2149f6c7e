import { setTimeout as delay } from 'node:timers/promises';
import type { MqttProgress, Store } from '../usecases/ports/index.ts';

const pollMs = 100;

/** Waits until a device has acknowledged a message, or for so long. null: the broker is not the embedded one. */
export async function waitForReceipt(
  store: Pick<Store, 'mqttQueues'>,
  { ownerId, notificationId, deviceId }: { ownerId: string; notificationId: string; deviceId: string },
  timeoutMs: number,
): Promise<MqttProgress | null> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const progress = (await store.mqttQueues.findProgress(ownerId, notificationId, [deviceId])).get(deviceId) ?? null;
    if (progress === null || progress.state === 'delivered' || performance.now() >= deadline) return progress;
    await delay(pollMs);
  }
}
