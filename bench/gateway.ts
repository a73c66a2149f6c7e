// The gateway under test: the real service with a real key, whose owner has no device, so that nothing but the POST path
// itself is measured.
import { statfs } from 'node:fs/promises';
import type { GatewayProcess, Installation } from '../packages/gateway/test/support/gateway-process.ts';

/** statfs(2) */
const tmpfsMagic = 0x01021994;
const changeTakesHoldMs = 5000;

export interface GatewayUnderTest {
  port: number;
  key: string;
  pid: number;
  /** False where the data folder is kept in memory and an fsync costs nothing. */
  fsyncReachesDisk: boolean;
}

export async function startGateway(installation: Installation): Promise<GatewayUnderTest> {
  const gateway = await installation.serve();
  const device = gateway.line.firstRun?.device.id;
  if (device === undefined) throw new Error('The gateway did not set up a first run.');
  await installation.json('device', 'delete', device);
  await untilDeviceIsGone(gateway);
  return {
    port: Number(new URL(gateway.api).port),
    key: gateway.key,
    pid: gateway.child.pid as number,
    fsyncReachesDisk: (await statfs(installation.dataDir)).type !== tmpfsMagic,
  };
}

/** A running gateway learns of the change a moment after the command. */
async function untilDeviceIsGone({ api, key }: GatewayProcess): Promise<void> {
  const deadline = performance.now() + changeTakesHoldMs;
  for (;;) {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const response = await fetch(api, { method: 'POST', headers, body: '{"title":"Is anybody there?"}' });
    const answer = (await response.json()) as { mqttSkipReason?: string };
    if (answer.mqttSkipReason === 'no_active_devices') return;
    if (performance.now() > deadline) throw new Error(`The device is still there: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
