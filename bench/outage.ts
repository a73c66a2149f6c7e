// npm run bench -- --outage: one provider after the other fails while requests that use every channel keep coming.
// Measures the effect on requests that use no channel.
import { setTimeout as delay } from 'node:timers/promises';
import type { Mosquitto } from '@tocsin/test-support/mosquitto.ts';
import { startSmtpServer, type TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { adopt } from './clean-up.ts';
import { createEnvironment, startBroker } from './environment.ts';
import { median } from './figures.ts';
import { startGateway, untilResponse } from './gateway.ts';
import { startChild } from './helpers.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { Options } from './options.ts';
import { notificationRequest, quietBody } from './request.ts';
import { orderOf } from './rounds.ts';

export type Phase = 'calm' | 'broker killed' | 'broker hangs' | 'SMTP server stalls';

export interface OutageReport {
  kind: 'outage';
  measuredAt: string;
  node: string;
  /** Of requests that use no channel, in milliseconds, one value per round. */
  phases: Record<Phase, { p50Ms: number[]; p99Ms: number[]; requestsPerSecond: number[] }>;
  /** Median p99 of the phase divided by that of the calm phase. */
  ratios: Record<Phase, number>;
}

interface Providers {
  broker: Mosquitto;
  smtp: TestSmtpServer;
}

const goal = 1.2;
const measuredConnections = 16;
const backgroundConnections = 16;
/** Keeps the background at about the same rate in every phase, however quickly it gets responses. */
const backgroundPauseMs = 50;

const breakProvider: Record<Phase, (providers: Providers) => void | Promise<void>> = {
  calm: () => undefined,
  'broker killed': ({ broker }) => broker.kill(),
  'broker hangs': ({ broker }) => broker.freeze(),
  'SMTP server stalls': ({ smtp }) => {
    smtp.faults.data = 'stall';
  },
};

const restoreProvider: Record<Phase, (providers: Providers) => void | Promise<void>> = {
  calm: () => undefined,
  'broker killed': ({ broker }) => broker.run(),
  'broker hangs': ({ broker }) => broker.thaw(),
  'SMTP server stalls': ({ smtp }) => smtp.resume(),
};

export async function measureOutages(options: Options, say: (line: string) => void): Promise<OutageReport> {
  const broker = await startBroker();
  const smtp = await adopt(startSmtpServer, (server) => server.kill());
  const { installation } = await createEnvironment(options, {
    TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${broker.port}`,
    TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    TOCSIN_EMAIL_FROM: 'bench@example.com',
    TOCSIN_LOG_LEVEL: 'error',
  });
  const gateway = await startGateway(installation, { hasDevice: true });
  const [{ port, api }] = gateway.nodes;
  const [owner] = await installation.json<{ id: string }[]>('owner', 'list');
  await installation.json('owner', 'set', owner?.id ?? '', '--email', 'ann@example.com', '--email-alerts', 'on');
  const [measured, background] = [await startChild('./load.ts'), await startChild('./load.ts')];

  const job = (body: string | undefined, connections: number, seconds: number): LoadJob => ({
    targets: [{ port, request: notificationRequest(port, gateway.key, body) }],
    mustContain: '"stored":true',
    connections,
    seconds,
  });
  const phases = Object.fromEntries(
    (Object.keys(breakProvider) as Phase[]).map((phase) => [phase, { p50Ms: [], p99Ms: [], requestsPerSecond: [] }]),
  ) as unknown as OutageReport['phases'];

  /** The background load starts before the measurement and ends after it. */
  async function measure(phase: Phase): Promise<LoadResult> {
    await breakProvider[phase]({ broker, smtp });
    const [inBackground, result] = await Promise.all([
      background.ask<LoadResult>({
        ...job(undefined, backgroundConnections, options.seconds + 2),
        pauseMs: backgroundPauseMs,
      }),
      delay(1000).then(() => measured.ask<LoadResult>(job(quietBody, measuredConnections, options.seconds))),
    ]);
    await restoreProvider[phase]({ broker, smtp });
    // A breaker that is still open would make the next phase look cheaper than it is.
    await untilResponse(
      { api, key: gateway.key },
      'its providers available',
      (response) => response.emailSent === true && response.mqttPublishedCount === 1,
    );
    const errors = result.errors + inBackground.errors;
    if (errors > 0)
      throw new Error(`${phase}: ${errors} errors. The first:\n${result.firstError ?? inBackground.firstError}`);
    return result;
  }

  say('warming up …');
  await measure('calm');
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const phase of orderOf(Object.keys(breakProvider) as Phase[], round)) {
      const { p50Ms, p99Ms, requestsPerSecond } = await measure(phase);
      phases[phase].p50Ms.push(p50Ms);
      phases[phase].p99Ms.push(p99Ms);
      phases[phase].requestsPerSecond.push(requestsPerSecond);
      say(`round ${round}, ${phase}: p99 ${p99Ms.toFixed(1)} ms`);
    }
  }
  const calm = median(phases.calm.p99Ms);
  const ratios = Object.fromEntries(
    Object.entries(phases).map(([phase, { p99Ms }]) => [phase, median(p99Ms) / calm]),
  ) as OutageReport['ratios'];
  return { kind: 'outage', measuredAt: new Date().toISOString(), node: process.versions.node, phases, ratios };
}

export function describeOutages({ phases, ratios }: OutageReport): string {
  const lines = Object.entries(phases).map(([phase, { p50Ms, p99Ms, requestsPerSecond }]) => {
    const figures = [median(requestsPerSecond).toFixed(0), median(p50Ms).toFixed(1), median(p99Ms).toFixed(1)];
    return [
      phase.padEnd(20),
      ...figures.map((figure) => figure.padStart(8)),
      ratios[phase as Phase].toFixed(2).padStart(8),
    ].join('');
  });
  return [
    '',
    'Requests that use no channel, while others that use all of them keep coming (medians):',
    '',
    `${'phase'.padEnd(20)}${['req/s', 'p50 ms', 'p99 ms', 'to calm'].map((title) => title.padStart(8)).join('')}`,
    ...lines,
    '',
    `Goal: p99 within ${goal} of the calm phase.`,
    '',
  ].join('\n');
}
