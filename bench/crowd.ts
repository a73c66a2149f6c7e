// npm run bench -- --devices N, --inboxes N: many connected clients on one gateway. Measures how fast they connect, what each
// costs, how long a notification takes to all clients of one owner, and what other callers notice of it.
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Child } from './child.ts';
import { systemMs } from './clock.ts';
import type { SwarmDevice } from './device-swarm.ts';
import { createEnvironment } from './environment.ts';
import { percentile, table } from './figures.ts';
import { type GatewayNode, post, startGateway } from './gateway.ts';
import { startChild, startListener, startStoreClient } from './helpers.ts';
import type { SwarmInbox } from './inbox-swarm.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { Options, StoreKind } from './options.ts';
import { processorSeconds, residentMegabytes } from './processes.ts';
import { notification, notificationRequest } from './request.ts';
import type { CreatedOwner, OwnersJob, StoreJob } from './store-client.ts';
import type { Arrived, Connected, ConnectJob, ExpectJob } from './swarm.ts';

export type Crowd = 'devices' | 'inboxes';
type Phase = 'calm' | 'connecting' | 'connected' | 'notifying';
type Latency = Pick<LoadResult, 'requests' | 'p50Ms' | 'p99Ms' | 'maxMs'>;

export interface CrowdReport {
  kind: 'crowd';
  measuredAt: string;
  node: string;
  processors: number;
  fsyncReachesDisk: boolean;
  store: StoreKind;
  crowd: Crowd;
  clients: number;
  owners: number;
  connect: Connected & { perSecond: number; processorMsEach: number | null };
  /** Resident memory of the gateway, after it has been at rest for some seconds. */
  megabytes: { before: number | null; connected: number | null; end: number | null };
  kilobytesEach: number | null;
  /** From the request to the arrival at the last client of the owner. */
  notify: {
    receivers: number;
    notifications: number;
    arrived: number;
    outOfOrder: number;
    p50Ms: number;
    p99Ms: number;
    maxMs: number;
    processorMsEach: number | null;
  };
  /** Responses to another owner, whose device is connected. */
  others: Record<Phase, Latency>;
}

interface CrowdKind<Client> {
  /** Clients of the owner that is notified; the console closes further inboxes of one owner. */
  receivers: number;
  /** Clients of each other owner. */
  clientsPerOwner: number;
  rowsOf(clients: number): Pick<OwnersJob, 'devicesEach' | 'sessionsEach'>;
  clientsOf(owner: CreatedOwner): Client[];
  swarm: string;
  portOf(node: GatewayNode): number;
}

const devices: CrowdKind<SwarmDevice> = {
  receivers: 100,
  clientsPerOwner: 100,
  rowsOf: (clients) => ({ devicesEach: clients, sessionsEach: 0 }),
  clientsOf: ({ devices: created }) => created,
  swarm: './device-swarm.ts',
  portOf: ({ process }) => Number(new URL(process.line.mqtt as string).port),
};

const inboxes: CrowdKind<SwarmInbox> = {
  receivers: 20,
  clientsPerOwner: 1,
  rowsOf: (clients) => ({ devicesEach: 0, sessionsEach: clients }),
  clientsOf: ({ sessions }) => sessions.map((session) => ({ session })),
  swarm: './inbox-swarm.ts',
  portOf: ({ process }) => Number(new URL(process.line.console).port),
};

const kinds = { devices, inboxes } satisfies Record<Crowd, unknown>;

/** A steady caller of another owner: enough requests for a p99, not enough to load the gateway. */
const otherCallers = { connections: 2, pauseMs: 5 };
/** Make the memory that load of any kind takes, such as that of V8 for new objects, part of the memory before. */
const warmUpCallers = { connections: 64, pauseMs: 0 };
const restMs = 10_000;
/** Between the arrival of a notification everywhere and the next one. */
const betweenMs = 20;
const timeoutMs = 60_000;

export async function measureCrowd(options: Options, say: (line: string) => void): Promise<CrowdReport> {
  const { mode, clients: count, seconds, store } = options;
  const crowd = mode as Crowd;
  const kind: CrowdKind<SwarmDevice | SwarmInbox> = kinds[crowd];
  const environment = await createEnvironment(options, { TOCSIN_LOG_LEVEL: 'error' });
  const gateway = await startGateway(environment.installation, { hasDevice: true });
  const [node] = gateway.nodes;
  await startListener(gateway.device);
  const load = await startChild('./load.ts');
  const others = async (during: () => Promise<unknown>, callers = otherCallers): Promise<Latency> => {
    const running = load.ask<LoadResult>({
      targets: [{ port: node.port, request: notificationRequest(node.port, gateway.key) }],
      mustContain: '"mqttPublishedCount":1',
      seconds: 600,
      ...callers,
    } satisfies LoadJob);
    await Promise.race([during(), running]);
    const [{ requests, p50Ms, p99Ms, maxMs, errors, firstError }] = await Promise.all([running, load.ask('stop')]);
    if (errors > 0) throw new Error(`Another owner got ${errors} errors. The first:\n${firstError}`);
    return { requests, p50Ms, p99Ms, maxMs };
  };

  say(`creating ${count} ${crowd} …`);
  const owners = await createOwners(environment, kind, count);
  const [notified] = owners as [CreatedOwner];
  const [early, ...clients] = owners.flatMap((owner) => kind.clientsOf(owner)).reverse();
  const port = kind.portOf(node);
  const connectAll = (child: Child, some: (typeof clients)[number][]): Promise<Connected> =>
    child.ask({ kind: 'connect', port, clients: some } satisfies ConnectJob<SwarmDevice | SwarmInbox>);
  say('warming up …');
  // The first client makes the gateway load and compile code, which is no cost of the others.
  await connectAll(await startChild(kind.swarm), early === undefined ? [] : [early]);
  await others(() => delay(seconds * 1000), warmUpCallers);
  const calm = await others(() => delay(seconds * 1000));
  const memory = async (): Promise<number | null> => {
    await delay(restMs);
    return residentMegabytes([node.pid]);
  };
  const before = await memory();

  say('connecting …');
  const swarm = await startChild(kind.swarm);
  const usedBefore = await processorSeconds([node.pid]);
  let result: Connected | undefined;
  const connecting = await others(async () => {
    result = await connectAll(swarm, clients);
  });
  const usedAfter = await processorSeconds([node.pid]);
  const connect = result as unknown as Connected;
  const atRest = await memory();
  const connected = await others(() => delay(seconds * 1000));

  say('notifying …');
  // Without the early one, if it is a client of this owner.
  const receivers = Math.min(kind.clientsOf(notified).length, clients.length);
  let notify: CrowdReport['notify'] | undefined;
  const notifying = await others(async () => {
    notify = await measureNotifications(swarm, node, notified.key, receivers, seconds);
  });
  return {
    kind: 'crowd',
    measuredAt: new Date().toISOString(),
    node: process.versions.node,
    processors: availableParallelism(),
    fsyncReachesDisk: gateway.fsyncReachesDisk,
    ...{ store, crowd, clients: count, owners: owners.length },
    connect: {
      ...connect,
      perSecond: clients.length / connect.seconds,
      processorMsEach:
        usedBefore === null || usedAfter === null ? null : ((usedAfter - usedBefore) / clients.length) * 1000,
    },
    megabytes: { before, connected: atRest, end: await memory() },
    kilobytesEach: before === null || atRest === null ? null : ((atRest - before) * 1024) / clients.length,
    notify: notify as unknown as CrowdReport['notify'],
    others: { calm, connecting, connected, notifying },
  };
}

async function createOwners(
  environment: Awaited<ReturnType<typeof createEnvironment>>,
  { receivers, clientsPerOwner, rowsOf }: CrowdKind<unknown>,
  count: number,
): Promise<CreatedOwner[]> {
  const client = await startStoreClient(environment);
  const create = (owners: number, clients: number): Promise<CreatedOwner[]> =>
    client.ask({ kind: 'owners', count: owners, ...rowsOf(clients) } satisfies StoreJob);
  const ofNotified = Math.min(count, receivers);
  const others = count - ofNotified;
  const created = [
    ...(await create(1, ofNotified)),
    ...(await create(Math.floor(others / clientsPerOwner), clientsPerOwner)),
    ...(others % clientsPerOwner === 0 ? [] : await create(1, others % clientsPerOwner)),
  ];
  client.end();
  return created;
}

async function measureNotifications(
  swarm: Child,
  { api, pid }: GatewayNode,
  key: string,
  receivers: number,
  seconds: number,
): Promise<CrowdReport['notify']> {
  const times: number[] = [];
  let outOfOrder = 0;
  const usedBefore = await processorSeconds([pid]);
  for (const endsAt = systemMs() + seconds * 1000; systemMs() < endsAt; await delay(betweenMs)) {
    const arriving = swarm.ask<Arrived>({ kind: 'expect', arrivals: receivers } satisfies ExpectJob);
    const sentAt = systemMs();
    await post({ api, key }, notification);
    const arrived = await Promise.race([arriving, delay(timeoutMs, null, { ref: false })]);
    if (arrived === null) throw new Error(`A notification had not arrived everywhere after ${timeoutMs / 1000} s.`);
    times.push(arrived.lastAt - sentAt);
    outOfOrder = arrived.outOfOrder;
  }
  const usedAfter = await processorSeconds([pid]);
  const sorted = Float64Array.from(times).sort();
  return {
    ...{ receivers, notifications: times.length, arrived: times.length * receivers, outOfOrder },
    ...{ p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99), maxMs: percentile(sorted, 1) },
    processorMsEach:
      usedBefore === null || usedAfter === null ? null : ((usedAfter - usedBefore) / times.length) * 1000,
  };
}

export function describeCrowd(report: CrowdReport): string {
  const { crowd, clients, owners, connect, megabytes, kilobytesEach, notify, others } = report;
  const figure = (value: number | null, digits = 1): string => (value === null ? '?' : value.toFixed(digits));
  const retried = connect.failedAttempts === 0 ? 'none' : `${connect.failedAttempts} (first: ${connect.firstFailure})`;
  return [
    '',
    `${clients} ${crowd} of ${owners} owners. Store: ${report.store}. Node ${report.node}, ${report.processors} processors`,
    ...(report.fsyncReachesDisk ? [] : ['Note: the data directory is in memory, so fsync costs nothing here.']),
    '',
    `Connected in ${connect.seconds.toFixed(1)} s: ${connect.perSecond.toFixed(0)}/s, ` +
      `${figure(connect.processorMsEach, 2)} ms of processor time each. Failed attempts: ${retried}.`,
    `Resident memory ${figure(megabytes.before, 0)} MB before, ${figure(megabytes.connected, 0)} MB connected, ` +
      `${figure(megabytes.end, 0)} MB at the end: ${figure(kilobytesEach)} KB each.`,
    `One notification to ${notify.receivers} ${crowd} of an owner, from the request to the last arrival: ` +
      `p50 ${notify.p50Ms.toFixed(1)} ms, p99 ${notify.p99Ms.toFixed(1)} ms, max ${notify.maxMs.toFixed(1)} ms ` +
      `(${notify.notifications} notifications, ${notify.arrived} arrivals, ${notify.outOfOrder} out of order or repeated).`,
    `Processor time while notifying, other requests included: ${figure(notify.processorMsEach)} ms for each notification.`,
    '',
    ...table(
      ['responses to another owner', 'requests', 'p50 ms', 'p99 ms', 'max ms'],
      Object.entries(others).map(([phase, { requests, p50Ms, p99Ms, maxMs }]) => [
        ...[phase, String(requests)],
        ...[p50Ms, p99Ms, maxMs].map((value) => value.toFixed(1)),
      ]),
    ),
    '',
  ].join('\n');
}
