import cluster from 'node:cluster';
import { isatty } from 'node:tty';
import { type Config, readConfig } from '../config/server.ts';
import { Problem } from '../core/problem.ts';
import type { Gateway } from '../main.ts';
import type { FirstRun } from '../usecases/first-run.ts';
import type { Command } from './command.ts';
import { deviceJson } from './device.ts';

export const serveCommand: Command = {
  summary: 'Run the gateway until SIGTERM or Ctrl-C',
  run: async (args, environment) => {
    // Before anything is opened: a stop that is asked for meanwhile comes after the start, and in order.
    const signals = heedSignals();
    const config = readConfig(environment);
    if (cluster.isWorker && environment.TOCSIN_WORKER !== undefined) {
      return serveAsWorker(config, signals, Number(environment.TOCSIN_WORKER), !args.flag('json'));
    }
    // Loaded only here: the other commands start in half the time without the servers.
    const [{ createLog }, { startGateway }] = await Promise.all([
      import('../observability/log.ts'),
      import('../main.ts'),
    ]);
    const isForPeople = process.stdout.isTTY && !args.flag('json');
    const log = createLog(config.logLevel, isForPeople);
    const gateway = await startGateway(config, log);
    signals.onReload(gateway.reload);
    // Also when it is about to stop again: the first key is shown only this once.
    await print(`${isForPeople ? welcome(gateway) : JSON.stringify(readyLine(gateway))}\n`);
    if (gateway.firstRun !== null) await gateway.firstRunShown();
    await signals.stopAsked;
    await gateway.stop();
    await log.flush();
    // Whatever a provider's library may have left running must not hold up the stop.
    process.exit(0);
  },
};

/**
 * What the head of several processes forks: it ends when the head asks it to, or has ended. A signal to stop, which
 * terminals and service managers send to all of them, is the head's to act upon: the others would end before they are missed.
 */
async function serveAsWorker(config: Config, signals: Signals, number: number, isForPeople: boolean): Promise<never> {
  const [{ createLog }, { startWorker }, { linkToHead }] = await Promise.all([
    import('../observability/log.ts'),
    import('../main.ts'),
    import('../process/workers/primary-link.ts'),
  ]);
  const log = createLog(config.logLevel, isForPeople, number);
  const head = linkToHead();
  try {
    // Without the head a start never comes to its end, and has nobody to come to it for.
    const worker = await Promise.race([startWorker(config, log, head), head.stopAsked]);
    if (worker !== undefined) {
      signals.onReload(worker.reload);
      await head.stopAsked;
      await worker.stop();
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await head.failed(error.message);
    process.exit(1);
  }
  await log.flush();
  process.exit(0);
}

interface Signals {
  stopAsked: Promise<void>;
  /** What to do when the files are to be read again; whoever has not got that far will read them anyway. */
  onReload(reload: () => void): void;
}

/**
 * The first signal asks for an orderly stop; the second, from someone who will not wait, ends the process at once.
 * SIGHUP is what a terminal sends when it is closed; without one, it asks a service to read its files again.
 */
function heedSignals(): Signals {
  const stop = Promise.withResolvers<void>();
  let isAsked = false;
  let reload = (): void => undefined;
  const askToStop = (): void => {
    if (isAsked) process.exit(1);
    isAsked = true;
    stop.resolve();
  };
  const isInTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  process.on('SIGTERM', askToStop).on('SIGINT', askToStop);
  process.on('SIGHUP', () => (isInTerminal ? askToStop() : reload()));
  return {
    stopAsked: stop.promise,
    onReload: (next) => {
      reload = next;
    },
  };
}

/** Resolves once it is written, or nobody reads it any more. */
function print(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}

function readyLine({ urls, inbox, firstRun }: Gateway) {
  return {
    event: 'ready',
    ...urls,
    inbox,
    ...(firstRun !== null && {
      firstRun: {
        owner: firstRun.ownerId,
        key: firstRun.key.value,
        device: { ...deviceJson(firstRun.device.device), mqtt: firstRun.device.mqtt },
        curl: curlLine(urls.api, firstRun),
        signIn: firstRun.signIn.url,
      },
    }),
  };
}

function welcome({ urls, inbox, firstRun }: Gateway): string {
  const lines = ['', '  Tocsin is running. Ctrl-C stops it.', '', `  Inbox  ${inbox}`, `  API    ${urls.api}`];
  if (firstRun === null) {
    lines.push('', "  'npx tocsin owner sign-in' prints a sign-in link, 'npx tocsin key create' an API key.");
  } else {
    lines.push(
      '',
      '  In another terminal, paste:',
      '',
      `  ${curlLine(urls.api, firstRun)}`,
      '',
      `  and see it arrive in your inbox: ${firstRun.signIn.url}`,
      '',
      '  The key in the first line and the sign-in link are shown only this once; the link works once, within a day.',
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
