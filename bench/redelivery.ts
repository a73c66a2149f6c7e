// npm run bench -- --redelivery: a broker was away, many deliveries of many devices wait for it, and it comes back.
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { post, startGateway, untilAnswer } from './gateway.ts';
import { startChild, startStoreClient } from './helpers.ts';
import { openHouse, startBroker } from './house.ts';
import type { Options, StoreKind } from './options.ts';
import type { Receipt, ReceiverJob } from './receiver.ts';
import type { StoreJob } from './store-client.ts';

export interface RedeliveryReport {
  kind: 'redelivery';
  measuredAt: string;
  node: string;
  processors: number;
  fsyncReachesDisk: boolean;
  options: { store: StoreKind; workers: number; nodes: number };
  devices: number;
  deliveries: number;
  /** Notifications accepted per second while the broker was away, one after the other, each for all devices. */
  acceptedPerSecond: number;
  /** From the broker's return to the first arrival: finding it again, and a breaker that is still open. */
  firstAfterSeconds: number;
  /** From the broker's return to the last arrival. */
  drainedAfterSeconds: number;
  /** From the first arrival to the last. */
  deliveriesPerSecond: number;
  /** Where lanes had to wait for a breaker, the average says little. */
  busiestSecond: number;
  /** From the broker's return until nothing waits in the store any more. */
  settledAfterSeconds: number;
  repeated: number;
  late: number;
}

const devices = 100;
const patienceMs = 600_000;
/** For what must not come any more. */
const aftermathMs = 2000;

export async function measureRedelivery(options: Options, say: (line: string) => void): Promise<RedeliveryReport> {
  const notifications = Math.ceil(options.rows / devices);
  const deliveries = notifications * devices;
  // Sessions outlive it, and it holds whatever comes in while the receiver finds it again.
  const broker = await startBroker({ isPersistent: true, settings: ['max_queued_messages 0'] });
  const url = `mqtt://127.0.0.1:${broker.port}`;
  const house = await openHouse(options, {
    TOCSIN_MQTT_URL: url,
    TOCSIN_REDELIVERY_LIMIT: '1000000',
    TOCSIN_LOG_LEVEL: 'error',
  });
  const gateway = await startGateway(house.installation, { hasDevice: true, nodes: options.nodes });
  const { ownerId, key } = gateway;
  const client = await startStoreClient(house);
  // Beside the one of the first run.
  await client.ask({ kind: 'devices', ownerId, count: devices - 1 } satisfies StoreJob);
  for (const { api } of gateway.nodes) {
    await untilAnswer({ api, key }, 'its devices', ({ mqttPublishedCount }) => mqttPublishedCount === devices);
  }
  const receiver = await startChild('./receiver.ts');
  await receiver.ask({ url, topic: `tocsin/${ownerId}/+/notifications`, expected: deliveries } satisfies ReceiverJob);

  await broker.shutDown();
  say(`the broker is away; accepting ${notifications} notifications for ${devices} devices …`);
  const acceptedFrom = performance.now();
  for (let number = 0; number < notifications; number += 1) {
    const notification = { title: String(number), mqttQos: 1, sendPush: false, sendEmail: false };
    const answer = await post({ api: gateway.nodes[0].api, key }, notification);
    if (answer.mqttFailedCount !== devices || !answer.warnings?.includes('redelivery_scheduled')) {
      throw new Error(`The notification does not wait for the broker: ${JSON.stringify(answer)}`);
    }
  }
  const acceptedPerSecond = (notifications / (performance.now() - acceptedFrom)) * 1000;
  const waiting = (): Promise<number> => client.ask<number>({ kind: 'waiting' } satisfies StoreJob);
  const before = await waiting();
  if (before !== deliveries) throw new Error(`${deliveries} deliveries should wait, and ${before} do.`);

  await broker.run();
  const backAt = Date.now();
  say('the broker is back …');
  const tooLate = delay(patienceMs, 'late' as const, { ref: false });
  if ((await Promise.race([receiver.ask<Receipt>(), tooLate])) === 'late') {
    throw new Error(`Not drained after ${patienceMs / 1000} s: ${JSON.stringify(await receiver.ask<Receipt>('look'))}`);
  }
  await eventually('nothing waits any more', patienceMs, waiting, (count) => count === 0);
  const settledAt = Date.now();
  await delay(aftermathMs);
  const { firstAt, lastAt, repeated, late, bySecond } = await receiver.ask<Receipt>('look');
  return {
    kind: 'redelivery',
    measuredAt: new Date().toISOString(),
    node: process.versions.node,
    processors: availableParallelism(),
    fsyncReachesDisk: gateway.fsyncReachesDisk,
    options: { store: options.store, workers: options.workers, nodes: options.nodes },
    devices,
    deliveries,
    acceptedPerSecond,
    firstAfterSeconds: (firstAt - backAt) / 1000,
    drainedAfterSeconds: (lastAt - backAt) / 1000,
    deliveriesPerSecond: deliveries / (Math.max(1, lastAt - firstAt) / 1000),
    busiestSecond: Math.max(...bySecond),
    settledAfterSeconds: (settledAt - backAt) / 1000,
    repeated,
    late,
  };
}

export function describeRedelivery(report: RedeliveryReport): string {
  const { options, repeated, late } = report;
  const order = late === 0 ? 'All in the order of acceptance' : `${late} OUT OF ORDER`;
  return [
    '',
    `${report.deliveries} deliveries of ${report.devices} devices waited for Mosquitto. Store: ${options.store}. ` +
      `Nodes: ${options.nodes}. Processes that serve the API on each: ${options.workers}. Node ${report.node}, ${report.processors} processors`,
    ...(report.fsyncReachesDisk ? [] : ['Mind: the data folder is in memory, so fsync costs nothing here.']),
    '',
    `While it was away: ${report.acceptedPerSecond.toFixed(0)} notifications/s accepted on one connection, each kept for all devices.`,
    `First arrival ${report.firstAfterSeconds.toFixed(1)} s after it was back, the last after ${report.drainedAfterSeconds.toFixed(1)} s: ` +
      `${report.deliveriesPerSecond.toFixed(0)} deliveries/s between them, ${report.busiestSecond} in the busiest second.`,
    `Nothing waited in the store any more after ${report.settledAfterSeconds.toFixed(1)} s.`,
    `${order}; ${repeated === 0 ? 'none' : repeated} more than once.`,
    '',
  ].join('\n');
}
