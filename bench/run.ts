// npm run bench: how much of what bare node:http can do is left once every request is authenticated, encrypted and on
// disk. Both servers are loaded in turn in one run, so that the ratio holds on a fast machine and on a slow one.
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { Installation } from '../packages/gateway/test/support/gateway-process.ts';
import { Mosquitto } from '../packages/gateway/test/support/mosquitto.ts';
import { Child } from './child.ts';
import { startGateway } from './gateway.ts';
import { measureHostile } from './hostile.ts';
import type { LoadJob, LoadResult } from './load.ts';
import { type Options, readOptions, UsageError, usage } from './options.ts';
import { describeOutages, measureOutages } from './outage.ts';
import { describe, type Measurement, median, type Report, type Round, type ServerName } from './report.ts';
import { notificationBody, notificationRequest } from './request.ts';
import { residentMegabytes } from './rss.ts';

interface Target {
  pid: number;
  job: LoadJob;
}

const resultsFolder = new URL('./results/', import.meta.url);

/** What has to be undone, last first, however the bench ends. */
const cleanUps: (() => unknown)[] = [];
let isInterrupted = false;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => {
      isInterrupted = true;
      cleanUp().finally(() => process.exit(code));
    });
  }
  try {
    const options = readOptions(args);
    const say = options.json ? () => undefined : (line: string) => console.error(line);
    const report = options.outage ? await measureOutages(options, say, keep) : await bench(options, say);
    const text = `${JSON.stringify(report, null, 2)}\n`;
    await mkdir(resultsFolder, { recursive: true });
    await writeFile(new URL('latest.json', resultsFolder), text);
    process.stdout.write(options.json ? text : 'phases' in report ? describeOutages(report) : describe(report));
    return 0;
  } catch (error) {
    // What was under way fails because its processes are being ended.
    if (isInterrupted) return 1;
    const isUsage = error instanceof UsageError;
    console.error(isUsage ? `${error.message}\n\n${usage}` : `The bench failed. ${(error as Error).stack}`);
    return isUsage ? 2 : 1;
  } finally {
    await cleanUp();
  }
}

async function bench(options: Options, say: (line: string) => void): Promise<Report> {
  const broker = options.mqtt === 'mosquitto' ? await Mosquitto.start() : null;
  if (broker !== null) cleanUps.push(() => broker.stop());
  const environment = broker === null ? {} : { TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${broker.port}` };
  const installation = await Installation.create(environment);
  cleanUps.push(() => installation.remove());
  const hasDevice = options.mqtt !== 'none';
  const gateway = await startGateway(installation, hasDevice);
  const device = hasDevice ? startChild('./device.ts') : null;
  await device?.ask(gateway.device);
  const echo = startChild('./echo-server.ts');
  const echoPort = await echo.ask<number>();
  const load = startChild('./load.ts');
  const { connections, seconds } = options;
  const jobFor = (port: number, mustContain: string): LoadJob => ({
    port,
    request: notificationRequest(port, gateway.key),
    mustContain,
    connections,
    seconds,
  });
  const targets: Record<ServerName, Target> = {
    gateway: { pid: gateway.pid, job: jobFor(gateway.port, hasDevice ? '"mqttPublishedCount":1' : '"stored":true') },
    echo: { pid: echo.pid, job: jobFor(echoPort, '"payload":{') },
  };

  say('warming up …');
  for (const name of ['gateway', 'echo'] as const) await measure(load, name, targets[name], seconds / 2);
  const rounds: Round[] = [];
  for (let index = 0; index < options.rounds; index += 1) {
    rounds.push(await runRound(load, targets, index % 2 === 0 ? ['gateway', 'echo'] : ['echo', 'gateway'], seconds));
    say(`round ${index + 1} of ${options.rounds}: ratio ${rounds.at(-1)?.ratio.toFixed(3)}`);
  }
  const delivered = await device?.ask<number>('count');
  say('hostile bodies …');
  return {
    measuredAt: new Date().toISOString(),
    node: process.versions.node,
    processors: availableParallelism(),
    fsyncReachesDisk: gateway.fsyncReachesDisk,
    requestBytes: Buffer.byteLength(notificationBody),
    options: { rounds: options.rounds, seconds, connections, mqtt: options.mqtt },
    ...(delivered !== undefined && { delivered }),
    rounds,
    medianRatio: median(rounds.map(({ ratio }) => ratio)),
    hostile: await measureHostile(gateway),
  };
}

/** The order changes from round to round: whoever comes second finds a warmer, or a hotter, machine. */
async function runRound(
  load: Child,
  targets: Record<ServerName, Target>,
  order: ServerName[],
  seconds: number,
): Promise<Round> {
  const measured: Partial<Record<ServerName, Measurement>> = {};
  for (const name of order) measured[name] = await measure(load, name, targets[name], seconds);
  const { gateway, echo } = measured as Record<ServerName, Measurement>;
  return { gateway, echo, ratio: gateway.requestsPerSecond / echo.requestsPerSecond };
}

async function measure(load: Child, name: ServerName, { pid, job }: Target, seconds: number): Promise<Measurement> {
  const result = await load.ask<LoadResult>({ ...job, seconds });
  if (result.errors > 0 || result.requests === 0) {
    throw new Error(
      `${name}: ${result.errors} errors beside ${result.requests} good answers. The first:\n${result.firstError}`,
    );
  }
  return { ...result, rssMegabytes: await residentMegabytes(pid) };
}

function keep(undo: () => unknown): void {
  cleanUps.push(undo);
}

function startChild(module: string): Child {
  const child = new Child(module);
  cleanUps.push(() => child.end());
  return child;
}

async function cleanUp(): Promise<void> {
  for (let undo = cleanUps.pop(); undo !== undefined; undo = cleanUps.pop()) await undo();
}
