// The measurements as a table for people.
import { table } from './figures.ts';
import type { HostileResult } from './hostile.ts';
import type { LoadResult } from './load.ts';
import type { MqttWay, Options } from './options.ts';

/** The longest that a single request may block the others. */
const hostileGoalMs = 50;
const ratioGoals: Record<MqttWay, number> = { none: 0.45, embedded: 0.3, mosquitto: 0.25 };
const hostileShown = 10;

/** Above this share of busy time the load generator slows down what it measures. */
const busyGenerator = 0.9;

/** `gateway` is all nodes together. */
export type ServerName = 'gateway' | 'oneNode' | 'echo';
export type Measurement = LoadResult & { rssMegabytes: number | null; arrivals?: Arrivals };

/**
 * Messages received by one device while requests came in; none was missing afterwards, or the run would have failed.
 */
export interface Arrivals {
  perSecond: number;
  /** How long the remaining messages took after the last request. */
  drainMs: number;
}

export interface Round {
  gateway: Measurement;
  /** One of several nodes, loaded alone. */
  oneNode?: Measurement;
  echo: Measurement;
  /** Ratio to the echo server, which is one process however many the gateway has. */
  ratio: number;
  /** Ratio of all nodes to one of them. */
  scaling?: number;
}

/** Sum over all nodes during the measurement. */
export interface StoreWork {
  writesPerCommit: number;
  commitsPerNotification: number;
  /** PostgreSQL only. */
  walBytesPerNotification: number | null;
}

export interface Report {
  kind: 'accept';
  measuredAt: string;
  node: string;
  processors: number;
  fsyncReachesDisk: boolean;
  requestBytes: number;
  options: Pick<Options, 'rounds' | 'seconds' | 'connections' | 'mqtt' | 'store' | 'workers' | 'nodes'>;
  /** Messages received by the device, if there is one. */
  delivered?: number;
  rounds: Round[];
  medianRatio: number;
  medianScaling?: number;
  work: StoreWork;
  hostile: HostileResult[];
}

export function describe(report: Report): string {
  const { connections, seconds, rounds, store, nodes, workers } = report.options;
  return [
    '',
    `POST / with ${report.requestBytes} bytes of JSON, ${connections} connections, ${rounds} × ${seconds} s each, ` +
      `Node ${report.node}, ${report.processors} processors`,
    `Store: ${store}. Nodes: ${nodes}. Processes that serve the API on each: ${workers}. The echo is one process.`,
    ...(report.delivered === undefined
      ? []
      : [`One device over MQTT (${report.options.mqtt}); it received all ${report.delivered} published messages.`]),
    report.fsyncReachesDisk
      ? 'The gateway responds after fsync.'
      : 'Note: the data directory is in memory, so fsync costs nothing here. Set TMPDIR to a folder on a disk.',
    '',
    ...table(
      [
        'round',
        'server',
        'req/s',
        'arrived/s',
        'drain ms',
        'p50 ms',
        'p99 ms',
        'RSS MB',
        'load CPU',
        'load busy',
        'ratio',
      ],
      report.rounds.flatMap((round, index) => [
        [String(index + 1), 'gateway', ...columns(round.gateway), round.ratio.toFixed(3)],
        ...(round.oneNode === undefined ? [] : [['', 'one node', ...columns(round.oneNode), '']]),
        ['', 'echo', ...columns(round.echo), ''],
      ]),
    ),
    '',
    `Median ratio gateway/echo: ${report.medianRatio.toFixed(3)}${goalOf(report)}`,
    ...(report.medianScaling === undefined
      ? []
      : [`Median scaling, ${nodes} nodes over one of them: ${report.medianScaling.toFixed(2)}`]),
    ...describeGenerator(report.rounds),
    describeWork(report.work),
    '',
    ...describeHostile(report.hostile),
    '',
  ].join('\n');
}

/** The goal applies to the simplest setup: one process and the embedded store. */
function goalOf({ options: { mqtt, store, workers, nodes } }: Report): string {
  const isPlain = store === 'sqlite' && workers === 1 && nodes === 1;
  return isPlain ? ` (goal: at least ${ratioGoals[mqtt]})` : '';
}

function describeGenerator(rounds: Round[]): string[] {
  const shares = (pick: (round: Round) => Measurement | undefined): number =>
    Math.max(...rounds.map((round) => pick(round)?.generatorBusy ?? 0));
  const held = [
    ['gateway', shares(({ gateway }) => gateway)] as const,
    ['one node', shares(({ oneNode }) => oneNode)] as const,
    ['echo', shares(({ echo }) => echo)] as const,
  ].filter(([, share]) => share > busyGenerator);
  return held.map(
    ([name, share]) =>
      `Note: with ${name} the load generator was busy for ${percent(share)} of its time. That server could do more.`,
  );
}

function describeWork({ writesPerCommit, commitsPerNotification, walBytesPerNotification }: StoreWork): string {
  const written = walBytesPerNotification === null ? '' : `, ${walBytesPerNotification.toFixed(0)} bytes of WAL`;
  return `Per notification: ${commitsPerNotification.toFixed(3)} commits (${writesPerCommit.toFixed(1)} writes in each)${written}`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function columns({
  requestsPerSecond,
  p50Ms,
  p99Ms,
  rssMegabytes,
  generatorCpu,
  generatorBusy,
  arrivals,
}: Measurement): string[] {
  return [
    requestsPerSecond.toFixed(0),
    arrivals?.perSecond.toFixed(0) ?? '',
    arrivals?.drainMs.toFixed(0) ?? '',
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    rssMegabytes === null ? '?' : rssMegabytes.toFixed(0),
    percent(generatorCpu),
    percent(generatorBusy),
  ];
}

function describeHostile(results: HostileResult[]): string[] {
  const [slowest] = results;
  if (slowest === undefined) return [];
  const verdict = slowest.maxMs < hostileGoalMs ? 'within' : 'BEYOND';
  return [
    `Slowest hostile body of ${results.length}: ${slowest.name}, ${slowest.maxMs.toFixed(1)} ms, answered ` +
      `${slowest.status} (${verdict} the goal of ${hostileGoalMs} ms)`,
    '',
    ...table(
      ['hostile body', 'bytes', 'status', 'response bytes', 'median ms', 'max ms'],
      results
        .slice(0, hostileShown)
        .map(({ name, bytes, status, responseBytes, medianMs, maxMs }) => [
          name,
          String(bytes),
          String(status),
          String(responseBytes),
          medianMs.toFixed(1),
          maxMs.toFixed(1),
        ]),
    ),
  ];
}
