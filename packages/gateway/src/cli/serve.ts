import cluster from 'node:cluster';
import { isatty } from 'node:tty';
import { type Config, readConfig } from '../config.ts';
import { Problem } from '../core/problem.ts';
import type { FirstRun } from '../gateway/first-run.ts';
import type { Gateway } from '../main.ts';
import type { Command } from './command.ts';
import { deviceJson } from './device.ts';

export const serveCommand: Command = {
  summary: 'Run the gateway until SIGTERM or Ctrl-C',
  run: async (args, environment) => {
    const config = readConfig(environment);
    if (cluster.isWorker && environment.TOCSIN_WORKER !== undefined) {
      return serveAsWorker(config, Number(environment.TOCSIN_WORKER), !args.flag('json'));
    }
    // Loaded only here: the other commands start in half the time without the servers.
    const [{ createLog }, { startGateway }] = await Promise.all([import('../log.ts'), import('../main.ts')]);
    const isForPeople = process.stdout.isTTY && !args.flag('json');
    const log = createLog(config.logLevel, isForPeople);
    const gateway = await startGateway(config, log);
    process.stdout.write(`${isForPeople ? welcome(gateway) : JSON.stringify(readyLine(gateway))}\n`);
    await stopSignal(gateway.reload);
    await gateway.stop();
    await log.flush();
    // Whatever a provider's library may have left running must not hold up the stop.
    process.exit(0);
  },
};

/** What the head of several processes forks: it ends when it is asked to, or when the head has ended. */
async function serveAsWorker(config: Config, number: number, isForPeople: boolean): Promise<never> {
  const [{ createLog }, { startWorker }, { linkToHead }] = await Promise.all([
    import('../log.ts'),
    import('../main.ts'),
    import('../workers/head-link.ts'),
  ]);
  const log = createLog(config.logLevel, isForPeople, number);
  const head = linkToHead();
  try {
    const worker = await startWorker(config, log, head);
    await Promise.race([head.stopAsked, stopSignal(worker.reload)]);
    await worker.stop();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await head.failed(error.message);
    process.exit(1);
  }
  await log.flush();
  process.exit(0);
}

/**
 * The first signal asks for an orderly stop; the second, from someone who will not wait, ends the process at once.
 * SIGHUP is what a terminal sends when it is closed; without one, it asks a service to read its files again.
 */
function stopSignal(reload: () => void): Promise<void> {
  const isInTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  if (!isInTerminal) process.on('SIGHUP', reload);
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ['SIGTERM', 'SIGINT', ...(isInTerminal ? (['SIGHUP'] as const) : [])] as const) {
      process.on(signal, () => {
        if (asked) process.exit(1);
        asked = true;
        resolve();
      });
    }
  });
}

function readyLine({ urls, firstRun }: Gateway) {
  return {
    event: 'ready',
    ...urls,
    ...(firstRun !== null && {
      firstRun: {
        owner: firstRun.ownerId,
        key: firstRun.key.value,
        device: { ...deviceJson(firstRun.device.device), mqtt: firstRun.device.mqtt },
        curl: curlLine(urls.api, firstRun),
      },
    }),
  };
}

function welcome({ urls, firstRun }: Gateway): string {
  const lines = ['', `  Tocsin listens on ${urls.api}. Ctrl-C stops it.`];
  if (firstRun === null) {
    lines.push('', "  'npx tocsin key create' makes a key; 'npx tocsin inbox list' shows what came in.");
  } else {
    lines.push(
      '',
      '  In another terminal, paste:',
      '',
      `  ${curlLine(urls.api, firstRun)}`,
      '',
      "  then 'npx tocsin inbox list' shows what came in. The key in that line is shown only this once.",
      `  A first device waits too: user ${firstRun.device.mqtt.username}, password ${firstRun.device.mqtt.password}.`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Single quotes hold in every POSIX shell; one inside an imported key is written apart. */
function curlLine(api: string, { key }: FirstRun): string {
  const body = JSON.stringify({ title: 'Hello from Tocsin', body: 'It works.', severity: 'info' });
  return `curl ${api} -H 'Authorization: Bearer ${key.value.replaceAll("'", `'\\''`)}' -H 'Content-Type: application/json' -d '${body}'`;
}
