// The measurements as a table for people.
import type { HostileResult } from './hostile.ts';
import type { LoadResult } from './load.ts';
import type { MqttWay, Options } from './options.ts';

/** No single request may hold up the others for longer. */
const hostileGoalMs = 50;
const ratioGoals: Record<MqttWay, number> = { none: 0.45, embedded: 0.3, mosquitto: 0.25 };
const hostileShown = 10;

export type ServerName = 'gateway' | 'echo';
export type Measurement = LoadResult & { rssMegabytes: number | null };

export interface Round {
  gateway: Measurement;
  echo: Measurement;
  ratio: number;
}

export interface Report {
  measuredAt: string;
  node: string;
  processors: number;
  fsyncReachesDisk: boolean;
  requestBytes: number;
  options: Pick<Options, 'rounds' | 'seconds' | 'connections' | 'mqtt'>;
  /** What the device got; only with one. */
  delivered?: number;
  rounds: Round[];
  medianRatio: number;
  hostile: HostileResult[];
}

export function median(values: number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function describe(report: Report): string {
  const { connections, seconds, rounds } = report.options;
  return [
    '',
    `POST / with ${report.requestBytes} bytes of JSON, ${connections} connections, ${rounds} × ${seconds} s each, ` +
      `Node ${report.node}, ${report.processors} processors`,
    ...(report.delivered === undefined
      ? []
      : [`One device over MQTT (${report.options.mqtt}); it got ${report.delivered} messages.`]),
    report.fsyncReachesDisk
      ? 'The gateway answers after fsync.'
      : 'Mind: the data folder is in memory, so fsync costs nothing here. Set TMPDIR to a folder on a disk.',
    '',
    ...table(
      ['round', 'server', 'req/s', 'p50 ms', 'p99 ms', 'RSS MB', 'load CPU', 'ratio'],
      report.rounds.flatMap((round, index) => [
        [String(index + 1), 'gateway', ...columns(round.gateway), round.ratio.toFixed(3)],
        ['', 'echo', ...columns(round.echo), ''],
      ]),
    ),
    '',
    `Median ratio gateway/echo: ${report.medianRatio.toFixed(3)} (goal: at least ${ratioGoals[report.options.mqtt]})`,
    '',
    ...describeHostile(report.hostile),
    '',
  ].join('\n');
}

function columns({ requestsPerSecond, p50Ms, p99Ms, rssMegabytes, generatorCpu }: Measurement): string[] {
  return [
    requestsPerSecond.toFixed(0),
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    rssMegabytes === null ? '?' : rssMegabytes.toFixed(0),
    `${(generatorCpu * 100).toFixed(0)} %`,
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
      ['hostile body', 'bytes', 'status', 'answer bytes', 'median ms', 'max ms'],
      results
        .slice(0, hostileShown)
        .map(({ name, bytes, status, answerBytes, medianMs, maxMs }) => [
          name,
          String(bytes),
          String(status),
          String(answerBytes),
          medianMs.toFixed(1),
          maxMs.toFixed(1),
        ]),
    ),
  ];
}

/** Words to the left, numbers to the right. */
function table(head: string[], rows: string[][]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const isNumber = (text: string): boolean => /^[\d?]/.test(text);
  const isNumeric = head.map((_, column) => rows.every((row) => row[column] === '' || isNumber(row[column] ?? '')));
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) =>
        isNumeric[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}
