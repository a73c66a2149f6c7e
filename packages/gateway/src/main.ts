// Composition root: config → open → listen → drain. The only file that knows every part.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';
import type { FastifyInstance } from 'fastify';
import packageJson from '../package.json' with { type: 'json' };
import { createChannels } from './channels/registry.ts';
import type { Config } from './config.ts';
import { createConsole } from './console/app.ts';
import { Problem } from './core/problem.ts';
import { createUuidV7Source } from './core/uuid-v7.ts';
import { createAccept } from './gateway/accept.ts';
import { createDirectory } from './gateway/directory.ts';
import { type FirstRun, prepareFirstRun } from './gateway/first-run.ts';
import type { Store } from './gateway/ports.ts';
import { systemMakers } from './gateway/registration.ts';
import { startRetention } from './gateway/retention.ts';
import { createApp } from './http/app.ts';
import { createLimits } from './http/limits.ts';
import { createApiServer } from './http/server.ts';
import type { Log } from './log.ts';
import { openStore } from './store/open-store.ts';

/** How long a stop waits for requests that are under way. */
const drainMs = 10_000;

export interface Gateway {
  urls: { api: string; console: string };
  firstRun: FirstRun | null;
  /** Stops accepting, finishes what runs, closes the store. */
  stop(): Promise<void>;
}

export async function startGateway(config: Config, log: Log): Promise<Gateway> {
  if (config.unknownVariables.length > 0) log.unknownVariables(config.unknownVariables);
  const store = await openStore(config, 'create');
  try {
    const api = createApi(config, store, log);
    const consoleApp = createConsole(store);
    const urls = {
      api: `${await listen(api, { host: config.host, port: config.port }, 'TOCSIN_PORT')}/`,
      console: `${await listenConsole(consoleApp, api, config)}/`,
    };
    // After the ports are taken: a start that fails must not use up the one moment at which the first key is shown.
    const firstRun = config.firstRun
      ? await prepareFirstRun(store, systemMakers, { firstKey: config.firstKey, topicPrefix: config.mqtt.topicPrefix })
      : null;
    const stopRetention = startRetention({
      store,
      retentionDays: config.retentionDays,
      now: Date.now,
      onPurged: log.purged,
      onFailed: log.purgeFailed,
    });
    log.started(urls);
    return {
      urls,
      firstRun,
      stop: async () => {
        await Promise.all([drain(api), consoleApp.close(), stopRetention()]);
        await store.close();
        log.stopped();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function createApi(config: Config, store: Store, log: Log): Server {
  const directory = createDirectory(store, () => performance.now());
  const newRequestId = createRequestIdSource();
  const app = createApp({
    accept: createAccept({
      store,
      directory,
      channels: createChannels(),
      newId: createUuidV7Source(Date.now, randomUUID),
      now: Date.now,
      onStoreFailure: log.storeFailed,
    }),
    authenticator: { directory, store, limits: createLimits(config.rateLimit), now: Date.now },
    addressPolicy: { allowed: config.customBrokerAllow },
    trustedProxies: config.trustedProxies,
    maxBodyBytes: config.maxBodyBytes,
    version: packageJson.version,
    newRequestId,
    now: Date.now,
    log,
  });
  return createApiServer({ app, maxBodyBytes: config.maxBodyBytes, newRequestId });
}

/** Unique across processes and restarts, and cheap: a random start, then counted. */
function createRequestIdSource(): () => string {
  const start = randomBytes(9).toString('base64url');
  let count = 0;
  return () => {
    count += 1;
    return `req_${start}${count.toString(36)}`;
  };
}

async function listen(server: Server, options: ListenOptions, variable: string): Promise<string> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(options, resolve);
    });
  } catch (error) {
    throw listenProblem(error, options.port as number, variable);
  }
  return addressOf(server);
}

async function listenConsole(app: FastifyInstance, api: Server, config: Config): Promise<string> {
  try {
    await app.listen({ host: config.host, port: config.consolePort });
  } catch (error) {
    api.close();
    throw listenProblem(error, config.consolePort, 'TOCSIN_CONSOLE_PORT');
  }
  return addressOf(app.server);
}

function listenProblem(error: unknown, port: number, variable: string): Problem {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new Problem(`Port ${port} is taken. Stop what uses it, or set ${variable} to another (0: any).`);
  return new Problem(`Cannot listen on port ${port} (${variable}): ${message}`);
}

function addressOf(server: Pick<Server, 'address'>): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** Resolves when the last answer is out; whoever is still sending after `drainMs` is cut off. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection that was busy when the stop began turns idle later, and Node would keep it open for the next request.
  const closeIdle = setInterval(() => server.closeIdleConnections(), 50);
  const cutOff = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(closeIdle);
  clearTimeout(cutOff);
}
