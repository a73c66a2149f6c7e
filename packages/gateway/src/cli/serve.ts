import cluster from 'node:cluster';
import { isatty } from 'node:tty';
import { mosquittoCommand, shellString } from '@tocsin/contract';
import { type Config, readConfig } from '../config/server.ts';
import { Problem } from '../core/problem.ts';
import type { Gateway } from '../main.ts';
import type { FirstRun } from '../usecases/first-run.ts';
import type { CreatedDevice } from '../usecases/registration.ts';
import type { Command } from './command.ts';
import { createdDeviceJson, describeMqtt } from './device-output.ts';

export const serveCommand: Command = {
  summary: 'Run the gateway until SIGTERM or Ctrl-C',
  run: async (args, environment) => {
    // Installed before anything is opened: a signal during the start leads to an orderly shutdown after it.
    const signals = handleSignals();
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
    // Printed even if a stop was already requested: the first key is shown only once.
    await print(`${isForPeople ? welcome(gateway) : JSON.stringify(readyLine(gateway))}\n`);
    if (gateway.firstRun !== null) await gateway.firstRunShown();
    await signals.stopAsked;
    await gateway.stop();
    await log.flush();
    // Handles that a provider's library may have left open must not keep the process alive.
    process.exit(0);
  },
};

/**
 * Runs a worker that the primary forked, until the primary asks it to stop or has exited. Terminals and service managers
 * send stop signals to all processes of the group; workers ignore them, because the primary has to drain them in order.
 */
async function serveAsWorker(config: Config, signals: Signals, number: number, isForPeople: boolean): Promise<never> {
  const [{ createLog }, { startWorker }, { linkToPrimary }] = await Promise.all([
    import('../observability/log.ts'),
    import('../main.ts'),
    import('../process/workers/primary-link.ts'),
  ]);
  const log = createLog(config.logLevel, isForPeople, number);
  const primary = linkToPrimary();
  try {
    // A start without a primary never completes, so it is abandoned.
    const worker = await Promise.race([startWorker(config, log, primary), primary.stopAsked]);
    if (worker !== undefined) {
      signals.onReload(worker.reload);
      await primary.stopAsked;
      await worker.stop();
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await primary.failed(error.message);
    process.exit(1);
  }
  await log.flush();
  process.exit(0);
}

interface Signals {
  stopAsked: Promise<void>;
  /** Sets the handler for SIGHUP. A signal before that is ignored: the start reads the files anyway. */
  onReload(reload: () => void): void;
}

/**
 * The first signal requests an orderly shutdown; the second exits at once.
 * SIGHUP means a closed terminal if there is one, and a request to reload the files otherwise.
 */
function handleSignals(): Signals {
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

/** Resolves when the text is written, or when the reader has closed the pipe. */
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
        device: createdDeviceJson(firstRun.device),
        curl: curlLine(urls.api, firstRun),
        signIn: firstRun.signIn.url,
      },
    }),
  };
}

function welcome({ urls, inbox, firstRun }: Gateway): string {
  const lines = ['', '  Tocsin is running. Ctrl-C stops it.', '', `  Inbox  ${inbox}`, `  API    ${urls.api}`];
  if (urls.mqtt !== undefined) lines.push(`  MQTT   ${urls.mqtt}`);
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
      ...describeFirstDevice(firstRun.device.mqtt),
      '',
      '  The API key in the curl command, the device password and the sign-in link are shown only once.',
      '  The link works once, within a day.',
    );
  }
  return `${lines.join('\n')}\n`;
}

function describeFirstDevice(mqtt: CreatedDevice['mqtt']): string[] {
  const command = mosquittoCommand(mqtt);
  if (command === null) return ['  The first MQTT device connects with:', '', ...describeMqtt(mqtt)];
  return [
    '  To receive it over MQTT as the first device (mosquitto_sub is part of mosquitto-clients), paste:',
    '',
    `  ${command.join(' ')}`,
  ];
}

function curlLine(api: string, { key }: FirstRun): string {
  const body = JSON.stringify({ title: 'Hello from Tocsin', body: 'It works.', severity: 'info' });
  const authorization = shellString(`Authorization: Bearer ${key.value}`);
  return `curl ${api} -H ${authorization} -H 'Content-Type: application/json' -d ${shellString(body)}`;
}
