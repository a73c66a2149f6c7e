// npm run bench -- --redelivery: how fast many queued deliveries of many devices drain after an outage of the broker.
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { createEnvironment, startBroker } from './environment.ts';
import { post, startGateway, untilResponse } from './gateway.ts';
import { startChild, startStoreClient } from './helpers.ts';
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
  /** Notifications accepted per second during the outage, one after the other, each for all devices. */
  acceptedPerSecond: number;
  /** From the broker's return to the first arrival: the time to reconnect and to close the breaker. */
  firstAfterSeconds: number;
  /** From the broker's return to the last arrival. */
  drainedAfterSeconds: number;
  /** From the first arrival to the last. */
  deliveriesPerSecond: number;
  /** Deliveries in the busiest second; the average says little if target queues waited for a breaker. */
  busiestSecond: number;
  /** From the broker's return until no delivery is queued in the store. */
  settledAfterSeconds: number;
  repeated: number;
  late: number;
}

const devices = 100;
const timeoutMs = 600_000;
/** Time to wait for messages that must not arrive. */
const unexpectedArrivalMs = 2000;

export async function measureRedelivery(options: Options, say: (line: string) => void): Promise<RedeliveryReport> {
  const notifications = Math.ceil(options.rows / devices);
  const deliveries = notifications * devices;
  // Sessions survive the restart, and the broker queues messages until the receiver has reconnected.
  const broker = await startBroker({ isPersistent: true, settings: ['max_queued_messages 0'] });
  const url = `mqtt://127.0.0.1:${broker.port}`;
  const environment = await createEnvironment(options, {
    TOCSIN_MQTT_URL: url,
    TOCSIN_REDELIVERY_LIMIT: '1000000',
    TOCSIN_LOG_LEVEL: 'error',
  });
  const gateway = await startGateway(environment.installation, { hasDevice: true, nodes: options.nodes });
  const { ownerId, key } = gateway;
  const client = await startStoreClient(environment);
  // In addition to the device of the first run.
  await client.ask({ kind: 'devices', ownerId, count: devices - 1 } satisfies StoreJob);
  for (const { api } of gateway.nodes) {
    await untilResponse({ api, key }, 'its devices', ({ mqttPublishedCount }) => mqttPublishedCount === devices);
  }
  const receiver = await startChild('./receiver.ts');
  await receiver.ask({ url, topic: `tocsin/${ownerId}/+/notifications`, expected: deliveries } satisfies ReceiverJob);

  await broker.shutDown();
  say(`broker stopped; accepting ${notifications} notifications for ${devices} devices …`);
  const acceptedFrom = performance.now();
  for (let number = 0; number < notifications; number += 1) {
    const notification = { title: String(number), mqttQos: 1, sendPush: false, sendEmail: false };
    const response = await post({ api: gateway.nodes[0].api, key }, notification);
    if (response.mqttFailedCount !== devices || !response.warnings?.includes('redelivery_scheduled')) {
      throw new Error(`The notification was not queued for the broker: ${JSON.stringify(response)}`);
    }
  }
  const acceptedPerSecond = (notifications / (performance.now() - acceptedFrom)) * 1000;
  const waiting = (): Promise<number> => client.ask<number>({ kind: 'waiting' } satisfies StoreJob);
  const before = await waiting();
  if (before !== deliveries) throw new Error(`${deliveries} deliveries should be queued, but ${before} are.`);

  await broker.run();
  const backAt = Date.now();
  say('broker started …');
  const tooLate = delay(timeoutMs, 'late' as const, { ref: false });
  if ((await Promise.race([receiver.ask<Receipt>(), tooLate])) === 'late') {
    throw new Error(
      `Not drained after ${timeoutMs / 1000} s: ${JSON.stringify(await receiver.ask<Receipt>('status'))}`,
    );
  }
  await eventually('no delivery is queued', timeoutMs, waiting, (count) => count === 0);
  const settledAt = Date.now();
  await delay(unexpectedArrivalMs);
  const { firstAt, lastAt, repeated, late, bySecond } = await receiver.ask<Receipt>('status');
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
    `${report.deliveries} deliveries of ${report.devices} devices were queued for Mosquitto. Store: ${options.store}. ` +
      `Nodes: ${options.nodes}. Processes that serve the API on each: ${options.workers}. Node ${report.node}, ${report.processors} processors`,
    ...(report.fsyncReachesDisk ? [] : ['Note: the data directory is in memory, so fsync costs nothing here.']),
    '',
    `During the outage: ${report.acceptedPerSecond.toFixed(0)} notifications/s accepted on one connection, each queued for all devices.`,
    `First arrival ${report.firstAfterSeconds.toFixed(1)} s after the restart, the last after ${report.drainedAfterSeconds.toFixed(1)} s: ` +
      `${report.deliveriesPerSecond.toFixed(0)} deliveries/s between them, ${report.busiestSecond} in the busiest second.`,
    `The retry queue in the store was empty after ${report.settledAfterSeconds.toFixed(1)} s.`,
    `${order}; ${repeated === 0 ? 'none' : repeated} more than once.`,
    '',
  ].join('\n');
}
