// The gateway under test: the real service with a real key. Without a device nothing but the POST path itself is measured;
// with one, also the way over MQTT.
import { statfs } from 'node:fs/promises';
import type { GatewayProcess, Installation } from '../packages/gateway/test/support/gateway-process.ts';
import type { DeviceJob } from './device.ts';

/** statfs(2) */
const tmpfsMagic = 0x01021994;
/** Longer than a breaker stays open and a broker connection takes to come back. */
const changeTakesHoldMs = 40_000;

export interface GatewayUnderTest {
  /** What the owner's device signs in with, where it is kept. */
  device: DeviceJob;
  port: number;
  key: string;
  pid: number;
  /** False where the data folder is kept in memory and an fsync costs nothing. */
  fsyncReachesDisk: boolean;
}

export async function startGateway(installation: Installation, hasDevice: boolean): Promise<GatewayUnderTest> {
  const gateway = await installation.serve();
  const device = gateway.line.firstRun?.device as { id: string; mqtt: DeviceJob & { urls: string[] } } | undefined;
  if (device === undefined) throw new Error('The gateway did not set up a first run.');
  if (!hasDevice) {
    await installation.json('device', 'delete', device.id);
    await untilAnswer(gateway, 'no device', ({ mqttSkipReason }) => mqttSkipReason === 'no_active_devices');
  } else {
    await untilAnswer(gateway, 'a broker', ({ mqttPublishedCount }) => mqttPublishedCount === 1);
  }
  const { username, password, topic, urls } = device.mqtt;
  return {
    device: { url: urls[0] as string, username, password, topic },
    port: Number(new URL(gateway.api).port),
    key: gateway.key,
    pid: gateway.child.pid as number,
    fsyncReachesDisk: (await statfs(installation.dataDir)).type !== tmpfsMagic,
  };
}

interface Answer {
  mqttSkipReason?: string;
  mqttPublishedCount?: number;
  emailSent?: boolean;
}

/** A running gateway learns of a change, and finds its broker, a moment later. */
export async function untilAnswer(
  { api, key }: Pick<GatewayProcess, 'api' | 'key'>,
  what: string,
  isSo: (answer: Answer) => boolean,
): Promise<void> {
  const deadline = performance.now() + changeTakesHoldMs;
  for (;;) {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const response = await fetch(api, { method: 'POST', headers, body: '{"title":"Is anybody there?"}' });
    const answer = (await response.json()) as Answer;
    if (isSo(answer)) return;
    if (performance.now() > deadline) throw new Error(`The gateway has not got ${what}: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
