// npm run bench: the throughput of the gateway, which authenticates, encrypts and syncs every request to disk, as a
// share of bare node:http. All servers are loaded in turn in one run, so that the ratio is comparable between machines.
import { availableParallelism } from 'node:os';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { scrape } from '@tocsin/test-support/scrape.ts';
import type { Child } from './child.ts';
import { createEnvironment, type StoreUnderTest, startBroker } from './environment.ts';
import { median } from './figures.ts';
import { type GatewayNode, type GatewayUnderTest, startGateway } from './gateway.ts';
import { startChild, startEcho } from './helpers.ts';
import { measureHostile } from './hostile.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { Options } from './options.ts';
import type { Arrivals, Measurement, Report, Round, ServerName, StoreWork } from './report.ts';
import { notificationBody, notificationRequest } from './request.ts';
import { rotated } from './rounds.ts';
import { residentMegabytes } from './rss.ts';

/** How long a device may take to receive the remaining messages after the last request. */
const drainTimeoutMs = 120_000;

interface Target {
  pids: number[];
  job: LoadJob;
}

type Targets = Map<ServerName, Target>;

export async function measureAcceptPath(options: Options, say: (line: string) => void): Promise<Report> {
  const { rounds: count, seconds, connections, mqtt, store: kind, workers, nodes } = options;
  const broker = mqtt === 'mosquitto' ? await startBroker() : null;
  const variables = broker === null ? {} : { TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${broker.port}` };
  const { installation, store } = await createEnvironment(options, variables);
  const hasDevice = mqtt !== 'none';
  const gateway = await startGateway(installation, { hasDevice, nodes });
  const device = hasDevice ? await startChild('./device.ts') : null;
  await device?.ask(gateway.device);
  const load = await startChild('./load.ts');
  const targets = await targetsOf(gateway, options);

  say('warming up …');
  for (const [name, target] of targets) await measure({ load, device }, name, target, seconds / 2);
  const countWork = await watchStore(gateway, store);
  const rounds: Round[] = [];
  for (let index = 0; index < count; index += 1) {
    const round = await runRound({ load, device }, targets, rotated([...targets.keys()], index), seconds);
    rounds.push(round);
    say(`round ${index + 1} of ${count}: ratio ${round.ratio.toFixed(3)}${scalingOf(round)}`);
  }
  const work = await countWork(
    rounds.reduce((sum, round) => sum + round.gateway.requests + (round.oneNode?.requests ?? 0), 0),
  );
  const delivered = await device?.ask<number>('count');
  say('hostile bodies …');
  const [{ port }] = gateway.nodes;
  return {
    kind: 'accept',
    measuredAt: new Date().toISOString(),
    node: process.versions.node,
    processors: availableParallelism(),
    fsyncReachesDisk: gateway.fsyncReachesDisk,
    requestBytes: Buffer.byteLength(notificationBody),
    options: { rounds: count, seconds, connections, mqtt, store: kind, workers, nodes },
    ...(delivered !== undefined && { delivered }),
    rounds,
    medianRatio: median(rounds.map(({ ratio }) => ratio)),
    ...(nodes > 1 && { medianScaling: median(rounds.map(({ scaling }) => scaling ?? Number.NaN)) }),
    work,
    hostile: await measureHostile({ port, key: gateway.key }),
  };
}

async function targetsOf({ nodes, key }: GatewayUnderTest, { connections, seconds, mqtt }: Options): Promise<Targets> {
  const jobFor = (ports: number[], mustContain: string): LoadJob => ({
    targets: ports.map((port) => ({ port, request: notificationRequest(port, key) })),
    mustContain,
    connections,
    seconds,
  });
  const gatewayOf = (loaded: readonly GatewayNode[]): Target => ({
    pids: loaded.map(({ pid }) => pid),
    job: jobFor(
      loaded.map(({ port }) => port),
      mqtt === 'none' ? '"stored":true' : '"mqttPublishedCount":1',
    ),
  });
  const targets: Targets = new Map([['gateway', gatewayOf(nodes)]]);
  if (nodes.length > 1) targets.set('oneNode', gatewayOf([nodes[0]]));
  const echo = await startEcho();
  return targets.set('echo', { pids: [echo.pid], job: jobFor([echo.port], '"payload":{') });
}

/** The order changes from round to round, because the second server finds a warmer, or a throttled, machine. */
async function runRound(
  participants: Participants,
  targets: Targets,
  order: ServerName[],
  seconds: number,
): Promise<Round> {
  const measured: Partial<Record<ServerName, Measurement>> = {};
  for (const name of order) measured[name] = await measure(participants, name, targets.get(name) as Target, seconds);
  const { gateway, echo } = measured as Record<ServerName, Measurement>;
  const { oneNode } = measured;
  return {
    gateway,
    ...(oneNode !== undefined && { oneNode, scaling: gateway.requestsPerSecond / oneNode.requestsPerSecond }),
    echo,
    ratio: gateway.requestsPerSecond / echo.requestsPerSecond,
  };
}

function scalingOf({ scaling }: Round): string {
  return scaling === undefined ? '' : `, scaling ${scaling.toFixed(2)}`;
}

/** The load generator and the receiving device; null if the owner has no device. */
interface Participants {
  load: Child;
  device: Child | null;
}

async function measure(
  { load, device }: Participants,
  name: ServerName,
  { pids, job }: Target,
  seconds: number,
): Promise<Measurement> {
  const listener = name === 'echo' ? null : device;
  const before = (await listener?.ask<number>('count')) ?? 0;
  const result = await load.ask<LoadResult>({ ...job, seconds });
  if (result.errors > 0 || result.requests === 0) {
    throw new Error(
      `${name}: ${result.errors} errors and ${result.requests} successful responses. The first error:\n${result.firstError}`,
    );
  }
  const arrivals = listener && (await countArrivals(listener, before, result));
  return { ...result, rssMegabytes: await residentMegabytes(pids), ...(arrivals !== null && { arrivals }) };
}

/**
 * Waits until the device has received everything and fails if a message is missing, because a rate counts only for
 * delivered messages.
 */
async function countArrivals(
  device: Child,
  before: number,
  { requests, requestsPerSecond }: LoadResult,
): Promise<Arrivals> {
  const since = performance.now();
  const count = async () => (await device.ask<number>('count')) - before;
  const atEnd = await count();
  const hasAll = (arrived: number): boolean => arrived >= requests;
  await eventually(`the device has received ${requests} messages`, drainTimeoutMs, count, hasAll, 50);
  return { perSecond: atEnd / (requests / requestsPerSecond), drainMs: performance.now() - since };
}

/** Counts commits and writes of the store from now on, per notification. */
async function watchStore({ nodes }: GatewayUnderTest, store: StoreUnderTest) {
  const readCounters = async () => {
    const scrapes = await Promise.all(nodes.map((node) => scrape(node.process)));
    const sum = (name: string): number => scrapes.reduce((total, each) => total + (each.sum(name) ?? 0), 0);
    return {
      writes: sum('tocsin_store_batch_size_sum'),
      commits: sum('tocsin_store_batch_size_count'),
      walBytes: await store.walBytes(),
    };
  };
  const before = await readCounters();
  return async (notifications: number): Promise<StoreWork> => {
    const after = await readCounters();
    return {
      writesPerCommit: (after.writes - before.writes) / (after.commits - before.commits),
      commitsPerNotification: (after.commits - before.commits) / notifications,
      walBytesPerNotification:
        after.walBytes === null || before.walBytes === null ? null : (after.walBytes - before.walBytes) / notifications,
    };
  };
}
