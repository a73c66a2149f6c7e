// The gateway under test: the real service with a real key, on one node or several. Without a device only the POST path
// is measured; with one, also delivery over MQTT.
import { statfs } from 'node:fs/promises';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import type { MqttJob } from './listener.ts';

/** statfs(2) */
const tmpfsMagic = 0x01021994;
/** Longer than a breaker stays open and a broker connection takes to recover. */
const changeTimeoutMs = 40_000;

export interface GatewayUnderTest {
  ownerId: string;
  /** MQTT credentials of the owner's device, if it has one. */
  device: MqttJob;
  key: string;
  nodes: readonly [GatewayNode, ...GatewayNode[]];
  /** False if the data directory is in memory, where an fsync costs nothing. */
  fsyncReachesDisk: boolean;
}

export interface GatewayNode {
  api: string;
  port: number;
  pid: number;
  process: GatewayProcess;
}

export async function startGateway(
  installation: Installation,
  { hasDevice, nodes: count = 1 }: { hasDevice: boolean; nodes?: number },
): Promise<GatewayUnderTest> {
  const first = await installation.serve();
  const { owner, device } = (first.line.firstRun ?? {}) as Partial<FirstRun>;
  if (owner === undefined || device === undefined) throw new Error('The gateway did not set up a first run.');
  if (!hasDevice) await installation.json('device', 'delete', device.id);
  const others = await Promise.all(Array.from({ length: count - 1 }, () => installation.serve()));
  for (const { api } of [first, ...others]) {
    if (!hasDevice) {
      await untilResponse(
        { api, key: first.key },
        'no device',
        ({ mqttSkipReason }) => mqttSkipReason === 'no_active_devices',
      );
    } else {
      await untilResponse({ api, key: first.key }, 'a broker', ({ mqttPublishedCount }) => mqttPublishedCount === 1);
    }
  }
  const { username, password, topic, urls } = device.mqtt;
  return {
    ownerId: owner,
    device: { kind: 'mqtt', url: urls[0] as string, username, password, topic },
    key: first.key,
    nodes: [toNode(first), ...others.map(toNode)],
    fsyncReachesDisk: (await statfs(installation.dataDir)).type !== tmpfsMagic,
  };
}

interface FirstRun {
  owner: string;
  device: { id: string; mqtt: MqttJob & { urls: string[] } };
}

function toNode(process: GatewayProcess): GatewayNode {
  return { api: process.api, port: Number(new URL(process.api).port), pid: process.child.pid as number, process };
}

interface GatewayResponse {
  mqttSkipReason?: string;
  mqttPublishedCount?: number;
  mqttFailedCount?: number;
  emailSent?: boolean;
  pushSent?: boolean;
  warnings?: string[];
}

export async function post({ api, key }: { api: string; key: string }, notification: object): Promise<GatewayResponse> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const response = await fetch(api, { method: 'POST', headers, body: JSON.stringify(notification) });
  return (await response.json()) as GatewayResponse;
}

/** Waits until a running gateway has noticed a change or reconnected to its broker. */
export async function untilResponse(
  target: { api: string; key: string },
  what: string,
  isExpected: (response: GatewayResponse) => boolean,
): Promise<void> {
  await eventually(`the gateway has ${what}`, changeTimeoutMs, () => post(target, { title: 'Probe' }), isExpected, 50);
}
