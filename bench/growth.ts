// npm run bench -- --growth: the cost of accepting and reading once an owner has many notifications, in one store that
// grows. The same load on an echo server shows how much of a difference comes from the machine.
import { availableParallelism } from 'node:os';
import type { Child } from './child.ts';
import { type ConsolePages, openConsolePages } from './console-pages.ts';
import { createEnvironment } from './environment.ts';
import { median, table } from './figures.ts';
import { startGateway } from './gateway.ts';
import { startChild, startEcho, startStoreClient } from './helpers.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { Options, StoreKind } from './options.ts';
import { notificationRequest } from './request.ts';
import type { PagesResult, StoreJob, WalkResult } from './store-client.ts';

export interface Stage {
  /** Rows of the owner at the beginning; the measurement itself adds more. */
  rows: number;
  rowsAfter: number;
  /** Medians over the rounds. */
  accept: { requestsPerSecond: number; p50Ms: number; p99Ms: number };
  inboxPage: PagesResult;
  echo: { p50Ms: number; p99Ms: number };
  generatorBusy: number;
  storeBytes: number;
}

export interface GrowthReport {
  kind: 'growth';
  measuredAt: string;
  node: string;
  processors: number;
  fsyncReachesDisk: boolean;
  options: { store: StoreKind; workers: number; rounds: number; connections: number };
  small: Stage;
  large: Stage;
  /** Ratio of the large store to the small one. */
  ratios: {
    acceptP50: number;
    acceptP99: number;
    inboxPageP50: number;
    inboxPageP99: number;
    echoP50: number;
    consoleFirstP50: number;
    consoleMiddleP50: number;
  };
  /** The small store of this measurement has even fewer rows than `small`. */
  console: { small: ConsolePages; large: ConsolePages };
  fill: { rows: number; rowsPerSecond: number };
  bytesPerRow: number;
  /** Every row of the owner, decrypted one by one at the end. */
  decrypted: number;
}

const goal = 1.3;
const consoleGoal = 1.5;
const consoleSmallRows = 1000;
const leastSmallRows = 500;
const pageRows = 50;
const pagesPerRound = 100;
/** Time limit for a machine that is too slow to send the requests of a round. */
const mostSeconds = 60;

export async function measureGrowth(options: Options, say: (line: string) => void): Promise<GrowthReport> {
  const { rows: largeRows, rounds, workers, store: kind } = options;
  const connections = Math.max(...options.connections);
  const smallRows = Math.max(leastSmallRows, Math.round(largeRows / 100));
  // Rows accepted during the measurement must not change the size of the small store noticeably.
  const perRound = Math.ceil(smallRows / 2 / rounds);
  const environment = await createEnvironment(options);
  const gateway = await startGateway(environment.installation, { hasDevice: false });
  const { ownerId, key, nodes } = gateway;
  const echo = await startEcho();
  const [load, client] = [await startChild('./load.ts'), await startStoreClient(environment)];
  const timeConsole = await openConsolePages(nodes[0].process);
  const ask = <Reply>(job: StoreJob): Promise<Reply> => client.ask<Reply>(job);
  const walk = (): Promise<WalkResult> => ask<WalkResult>({ kind: 'walk', ownerId });

  const jobFor = (port: number, mustContain: string): LoadJob => ({
    ...{ targets: [{ port, request: notificationRequest(port, key) }], mustContain, connections, seconds: mostSeconds },
  });
  const accepting = jobFor(nodes[0].port, '"stored":true');
  const echoing = jobFor(echo.port, '"payload":{');

  async function measure(rows: number): Promise<Stage> {
    await environment.store.maintain();
    const storeBytes = await environment.store.bytes();
    const accepts: LoadResult[] = [];
    const echoes: LoadResult[] = [];
    const pages: PagesResult[] = [];
    for (let round = 0; round < rounds; round += 1) {
      echoes.push(await run(load, echoing, perRound));
      accepts.push(await run(load, accepting, perRound));
      pages.push(await ask<PagesResult>({ kind: 'pages', ownerId, limit: pageRows, times: pagesPerRound }));
    }
    return {
      rows,
      rowsAfter: rows + rounds * perRound,
      accept: {
        requestsPerSecond: median(accepts.map(({ requestsPerSecond }) => requestsPerSecond)),
        ...medians(accepts),
      },
      inboxPage: medians(pages),
      echo: medians(echoes),
      generatorBusy: Math.max(...[...accepts, ...echoes].map(({ generatorBusy }) => generatorBusy)),
      storeBytes,
    };
  }

  say('warming up …');
  await run(load, echoing, smallRows);
  // Filling through the gateway itself warms it up.
  const growTo = async (rows: number): Promise<void> => {
    const missing = rows - (await walk()).rows;
    if (missing > 0) await run(load, accepting, missing);
  };
  await growTo(Math.min(consoleSmallRows, smallRows));
  const consoleSmall = await timeConsole(await walk());
  await growTo(smallRows);
  const small = await measure((await walk()).rows);
  say(
    `${small.rows} rows: accept p50 ${small.accept.p50Ms.toFixed(2)} ms, page p50 ${small.inboxPage.p50Ms.toFixed(2)} ms`,
  );
  const toFill = largeRows - small.rowsAfter;
  say(`filling with ${toFill} rows …`);
  const fillStartedAt = performance.now();
  await ask({ kind: 'fill', ownerId, count: toFill });
  const fillSeconds = (performance.now() - fillStartedAt) / 1000;
  const large = await measure(largeRows);
  say(
    `${large.rows} rows: accept p50 ${large.accept.p50Ms.toFixed(2)} ms, page p50 ${large.inboxPage.p50Ms.toFixed(2)} ms`,
  );
  say('decrypting every row …');
  const walked = await walk();
  const decrypted = walked.rows;
  if (decrypted !== large.rowsAfter)
    throw new Error(`${large.rowsAfter} rows were stored, but ${decrypted} were read.`);
  const consoleLarge = await timeConsole(walked);
  return {
    kind: 'growth',
    measuredAt: new Date().toISOString(),
    node: process.versions.node,
    processors: availableParallelism(),
    fsyncReachesDisk: gateway.fsyncReachesDisk,
    options: { store: kind, workers, rounds, connections },
    small,
    large,
    ratios: {
      acceptP50: large.accept.p50Ms / small.accept.p50Ms,
      acceptP99: large.accept.p99Ms / small.accept.p99Ms,
      inboxPageP50: large.inboxPage.p50Ms / small.inboxPage.p50Ms,
      inboxPageP99: large.inboxPage.p99Ms / small.inboxPage.p99Ms,
      echoP50: large.echo.p50Ms / small.echo.p50Ms,
      consoleFirstP50: consoleLarge.first.p50Ms / consoleSmall.first.p50Ms,
      consoleMiddleP50: consoleLarge.middle.p50Ms / consoleSmall.middle.p50Ms,
    },
    console: { small: consoleSmall, large: consoleLarge },
    fill: { rows: toFill, rowsPerSecond: toFill / fillSeconds },
    bytesPerRow: (large.storeBytes - small.storeBytes) / (large.rows - small.rows),
    decrypted,
  };
}

async function run(load: Child, job: LoadJob, requests: number): Promise<LoadResult> {
  const result = await load.ask<LoadResult>({ ...job, requests });
  if (result.errors > 0 || result.requests !== requests) {
    throw new Error(`${result.requests} successful responses of ${requests}. The first other:\n${result.firstError}`);
  }
  return result;
}

function medians(results: readonly PagesResult[]): PagesResult {
  return { p50Ms: median(results.map(({ p50Ms }) => p50Ms)), p99Ms: median(results.map(({ p99Ms }) => p99Ms)) };
}

export function describeGrowth(report: GrowthReport): string {
  const { options, small, large, ratios, fill, bytesPerRow, decrypted } = report;
  const { small: few, large: many } = report.console;
  const row = (what: string, pick: (stage: Stage) => number, ratio: number): string[] => [
    what,
    pick(small).toFixed(2),
    pick(large).toFixed(2),
    ratio.toFixed(2),
  ];
  const verdict = (ratio: number, most = goal): string => (ratio <= most ? 'within' : 'BEYOND');
  return [
    '',
    `One owner in one ${options.store} store, ${options.connections} connections, ${options.rounds} rounds, ` +
      `Node ${report.node}, ${report.processors} processors (medians, in ms)`,
    report.fsyncReachesDisk
      ? 'The gateway responds after fsync.'
      : 'Note: the data directory is in memory, so fsync costs nothing here. Set TMPDIR to a folder on a disk.',
    '',
    ...table(
      ['', `${small.rows}–${small.rowsAfter} rows`, `${large.rows}–${large.rowsAfter} rows`, 'ratio'],
      [
        row('accept p50', ({ accept }) => accept.p50Ms, ratios.acceptP50),
        row('accept p99', ({ accept }) => accept.p99Ms, ratios.acceptP99),
        row(`inbox page of ${pageRows}, p50`, ({ inboxPage }) => inboxPage.p50Ms, ratios.inboxPageP50),
        row(`inbox page of ${pageRows}, p99`, ({ inboxPage }) => inboxPage.p99Ms, ratios.inboxPageP99),
        row('echo p50, for comparison', ({ echo }) => echo.p50Ms, ratios.echoP50),
      ],
    ),
    '',
    `Goal: p50 within ${goal} ×. Accept: ${verdict(ratios.acceptP50)}. Inbox page: ${verdict(ratios.inboxPageP50)}.`,
    '',
    ...table(
      ['over the console', `${few.rows} rows`, `${many.rows} rows`, 'ratio'],
      [
        [
          'newest page, p50',
          few.first.p50Ms.toFixed(2),
          many.first.p50Ms.toFixed(2),
          ratios.consoleFirstP50.toFixed(2),
        ],
        [
          'middle page, p50',
          few.middle.p50Ms.toFixed(2),
          many.middle.p50Ms.toFixed(2),
          ratios.consoleMiddleP50.toFixed(2),
        ],
      ],
    ),
    '',
    `Goal: p50 within ${consoleGoal} ×. Newest: ${verdict(ratios.consoleFirstP50, consoleGoal)}. Middle: ${verdict(ratios.consoleMiddleP50, consoleGoal)}.`,
    `The load generator was busy for at most ${(Math.max(small.generatorBusy, large.generatorBusy) * 100).toFixed(0)} % of its time.`,
    `Filled with ${fill.rowsPerSecond.toFixed(0)} rows/s; ${bytesPerRow.toFixed(0)} bytes on disk per row; all ${decrypted} rows can be decrypted.`,
    '',
  ].join('\n');
}
