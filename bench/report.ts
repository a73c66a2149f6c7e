// The measurements as tables for people.
import { median, table } from './figures.ts';
import type { Measurement } from './measure.ts';
import type { Options } from './options.ts';

/** Above this share of busy time the load generator slows down what it measures. */
const busyGenerator = 0.9;

/** Every server once under the same load; the first one is the gateway of this checkout. */
export interface Round {
  /** Connections with one request at a time. */
  callers: number;
  measurements: Record<string, Measurement>;
}

/** Sum over all nodes during the measurement. */
export interface StoreWork {
  writesPerCommit: number;
  commitsPerNotification: number;
  /** PostgreSQL only. */
  walBytesPerNotification: number | null;
  /** PostgreSQL only; reads and settled dispatches included. */
  transactionsPerNotification: number | null;
}

export interface Report {
  kind: 'accept';
  measuredAt: string;
  node: string;
  processors: number;
  fsyncReachesDisk: boolean;
  requestBytes: number;
  options: Pick<Options, 'rounds' | 'seconds' | 'connections' | 'mqtt' | 'store' | 'workers' | 'nodes'>;
  /** Resident memory before the load, by server; null where it is not known. */
  idleMegabytes: Record<string, number | null>;
  rounds: Round[];
  /** By gateway. */
  work: Record<string, StoreWork>;
}

export function describe(report: Report): string {
  const { connections, seconds, rounds, store, nodes, workers, mqtt } = report.options;
  return [
    '',
    `POST / with ${report.requestBytes} bytes of JSON, ${rounds} × ${seconds} s each, Node ${report.node}, ` +
      `${report.processors} processors. Medians of the rounds.`,
    `Store: ${store}. Nodes: ${nodes}. Processes that serve the API on each: ${workers}. Sketch and echo are one process.`,
    ...(mqtt === 'none' ? [] : [`One device over MQTT (${mqtt}). Every published message arrived.`]),
    report.fsyncReachesDisk
      ? 'The gateway responds after fsync.'
      : 'Note: the data directory is in memory, so fsync costs nothing here. Set TMPDIR to a folder on a disk.',
    ...connections.flatMap((callers) => describeLoad(report, callers)),
    '',
    ...describeGenerator(report.rounds),
    ...Object.entries(report.work).map(describeWork),
    '',
  ].join('\n');
}

function describeLoad({ rounds: all, idleMegabytes }: Report, callers: number): string[] {
  const rounds = all.filter((round) => round.callers === callers);
  const [round] = rounds;
  if (round === undefined) return [];
  const names = Object.keys(round.measurements);
  const [own] = names as [string];
  const of = (name: string) => rounds.map(({ measurements }) => measurements[name] as Measurement);
  const hasDelivery = names.some((name) => of(name)[0]?.delivery);
  const services = [...new Set(names.flatMap((name) => Object.keys(of(name)[0]?.servicesUs ?? {})))];
  return [
    '',
    `${round.callers} ${round.callers === 1 ? 'caller' : 'callers'}`,
    ...table(
      [
        ...['server', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs', 'RSS MB', 'idle MB', 'rate ×', 'CPU ×'],
        ...services.map((service) => `${service} µs`),
        ...(hasDelivery ? ['arrived/s', 'after p50', 'p99 ms', 'out of order', 'drain ms'] : []),
      ],
      names.map((name) => [
        name,
        ...columns(of(name)),
        figureOf([idleMegabytes[name] ?? null], 0),
        ...(name === own ? ['', ''] : comparison(of(own), of(name))),
        ...services.map((service) => serviceColumn(of(name), service)),
        ...(hasDelivery ? deliveryColumns(of(name)) : []),
      ]),
    ),
  ];
}

/** How many times the rate and the processor time of another server the gateway has, as medians of the rounds. */
function comparison(own: Measurement[], others: Measurement[]): string[] {
  const ratio = (figure: (of: Measurement) => number | null): string =>
    median(
      own.map((each, round) => (figure(each) ?? Number.NaN) / (figure(others[round] as Measurement) ?? Number.NaN)),
    ).toFixed(2);
  return [ratio(({ requestsPerSecond }) => requestsPerSecond), ratio(({ processorUs }) => processorUs)];
}

function columns(of: Measurement[]): string[] {
  const at = (figure: (each: Measurement) => number | null, digits: number): string => figureOf(of.map(figure), digits);
  return [
    at(({ requestsPerSecond }) => requestsPerSecond, 0),
    at(({ p50Ms }) => p50Ms, 2),
    at(({ p99Ms }) => p99Ms, 2),
    at(({ processorUs }) => processorUs, 0),
    at(({ rssMegabytes }) => rssMegabytes, 0),
  ];
}

function serviceColumn(of: Measurement[], service: string): string {
  return of[0]?.servicesUs[service] === undefined
    ? ''
    : figureOf(
        of.map(({ servicesUs }) => servicesUs[service] ?? null),
        0,
      );
}

function deliveryColumns(of: Measurement[]): string[] {
  const deliveries = of.flatMap(({ delivery }) => delivery ?? []);
  if (deliveries.length === 0) return ['', '', '', '', ''];
  return [
    figureOf(
      deliveries.map(({ perSecond }) => perSecond),
      0,
    ),
    figureOf(
      deliveries.map(({ p50Ms }) => p50Ms),
      1,
    ),
    figureOf(
      deliveries.map(({ p99Ms }) => p99Ms),
      1,
    ),
    String(deliveries.reduce((sum, { outOfOrder }) => sum + outOfOrder, 0)),
    figureOf(
      deliveries.map(({ drainMs }) => drainMs),
      0,
    ),
  ];
}

function figureOf(values: (number | null)[], digits: number): string {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? '?' : median(known).toFixed(digits);
}

function describeGenerator(rounds: Round[]): string[] {
  const busiest = new Map<string, number>();
  for (const { measurements } of rounds) {
    for (const [name, { generatorBusy }] of Object.entries(measurements)) {
      busiest.set(name, Math.max(busiest.get(name) ?? 0, generatorBusy));
    }
  }
  return [...busiest]
    .filter(([, share]) => share > busyGenerator)
    .map(
      ([name, share]) =>
        `Note: with ${name} the load generator was busy for ${(share * 100).toFixed(0)} % of its time. That server could do more.`,
    );
}

function describeWork([name, work]: [string, StoreWork]): string {
  const { writesPerCommit, commitsPerNotification, walBytesPerNotification, transactionsPerNotification } = work;
  return [
    `Per notification, ${name}: ${commitsPerNotification.toFixed(3)} commits (${writesPerCommit.toFixed(1)} writes in each)`,
    ...(walBytesPerNotification === null ? [] : [`${walBytesPerNotification.toFixed(0)} bytes of WAL`]),
    ...(transactionsPerNotification === null
      ? []
      : [`${transactionsPerNotification.toFixed(3)} transactions of PostgreSQL in all`]),
  ].join(', ');
}
