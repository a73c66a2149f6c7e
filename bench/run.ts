// npm run bench: runs the chosen measurement, prints it, and deletes everything but results/latest.json.
import { mkdir, writeFile } from 'node:fs/promises';
import { measureAcceptPath } from './accept-path.ts';
import { type BodiesReport, describeBodies, measureBodies } from './bodies.ts';
import { cleanUp, useOwnFolder } from './clean-up.ts';
import { type CrowdReport, describeCrowd, measureCrowd } from './crowd.ts';
import { describeGrowth, type GrowthReport, measureGrowth } from './growth.ts';
import { type Options, readOptions, UsageError, usage } from './options.ts';
import { describeOutages, measureOutages, type OutageReport } from './outage.ts';
import { describeRedelivery, measureRedelivery, type RedeliveryReport } from './redelivery.ts';
import { describe, type Report } from './report.ts';

type AnyReport = Report | OutageReport | GrowthReport | RedeliveryReport | CrowdReport | BodiesReport;

const resultsFolder = new URL('./results/', import.meta.url);
let isInterrupted = false;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => {
      isInterrupted = true;
      cleanUp().finally(() => process.exit(code));
    });
  }
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(usage);
    return 0;
  }
  try {
    const options = readOptions(args);
    const say = options.json ? () => undefined : (line: string) => console.error(line);
    await useOwnFolder();
    const report = await measure(options, say);
    const text = `${JSON.stringify(report, null, 2)}\n`;
    await mkdir(resultsFolder, { recursive: true });
    await writeFile(new URL('latest.json', resultsFolder), text);
    process.stdout.write(options.json ? text : describeAny(report));
    return 0;
  } catch (error) {
    // Measurements in progress fail because their processes are being stopped.
    if (isInterrupted) return 1;
    const isUsage = error instanceof UsageError;
    console.error(isUsage ? `${error.message}\n\n${usage}` : `The bench failed. ${(error as Error).stack}`);
    return isUsage ? 2 : 1;
  } finally {
    await cleanUp();
  }
}

function measure(options: Options, say: (line: string) => void): Promise<AnyReport> {
  switch (options.mode) {
    case 'accept':
      return measureAcceptPath(options, say);
    case 'outage':
      return measureOutages(options, say);
    case 'growth':
      return measureGrowth(options, say);
    case 'redelivery':
      return measureRedelivery(options, say);
    case 'devices':
    case 'inboxes':
      return measureCrowd(options, say);
    case 'bodies':
      return measureBodies(options, say);
  }
}

function describeAny(report: AnyReport): string {
  switch (report.kind) {
    case 'accept':
      return describe(report);
    case 'outage':
      return describeOutages(report);
    case 'growth':
      return describeGrowth(report);
    case 'redelivery':
      return describeRedelivery(report);
    case 'crowd':
      return describeCrowd(report);
    case 'bodies':
      return describeBodies(report);
  }
}
