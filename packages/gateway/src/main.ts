// Composition root: config → open → listen → drain. The only file that knows every part.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import packageJson from '../package.json' with { type: 'json' };
import { createEmbeddedBroker, type EmbeddedBroker } from './channels/mqtt/embedded/index.ts';
import { createPlatformBroker } from './channels/mqtt/platform.ts';
import type { MqttPublisher } from './channels/mqtt/publisher.ts';
import { type ChannelSet, closeEgresses, createChannels, createEgresses } from './channels/registry.ts';
import type { Config } from './config.ts';
import { createConsole } from './console/app.ts';
import { deviceUrls } from './core/device-urls.ts';
import { createUuidV7Source } from './core/uuid-v7.ts';
import { createAccept } from './gateway/accept.ts';
import { createDirectory } from './gateway/directory.ts';
import { type FirstRun, prepareFirstRun } from './gateway/first-run.ts';
import type { Channels, Store } from './gateway/ports.ts';
import { systemMakers } from './gateway/registration.ts';
import { startRetention } from './gateway/retention.ts';
import { createApp } from './http/app.ts';
import { clientAddress } from './http/client-address.ts';
import { createLimits } from './http/limits.ts';
import { createApiServer } from './http/server.ts';
import { drain, listen, listenProblem } from './listen.ts';
import type { Log } from './log.ts';
import { openStore } from './store/open-store.ts';

export interface Gateway {
  urls: { api: string; console: string; mqtt?: string };
  firstRun: FirstRun | null;
  /** Stops accepting, finishes what runs, closes channels and store. */
  stop(): Promise<void>;
}

export async function startGateway(config: Config, log: Log): Promise<Gateway> {
  if (config.unknownVariables.length > 0) log.unknownVariables(config.unknownVariables);
  // What is opened later is closed earlier: the API, then channels and broker, then the console, then the store.
  const opened = new AsyncDisposableStack();
  try {
    const store = opened.adopt(await openStore(config, 'create'), (each) => each.close());
    const consoleApp = opened.adopt(createConsole(store), closeConsole);
    const embedded = config.mqtt.platform === null ? await openEmbeddedBroker(config, store, log) : null;
    const publisher = opened.adopt(embedded ?? openPlatformBroker(config, log), (each) => each.close());
    await consoleApp.ready();
    if (embedded !== null) consoleApp.server.on('upgrade', embedded.handleUpgrade);
    const { channels } = await openChannels(config, store, publisher, opened);
    const api = opened.adopt(createApi(config, store, channels, log), drain);
    const urls = await openListeners(config, api, consoleApp.server, embedded);
    // After the ports are taken: a start that fails must not use up the one moment at which the first key is shown.
    const firstRun = config.firstRun
      ? await prepareFirstRun(store, systemMakers, {
          firstKey: config.firstKey,
          topicPrefix: config.mqtt.topicPrefix,
          urls: deviceUrls(config.mqtt.platform?.url ?? null, { console: urls.console, mqtt: urls.mqtt ?? null }),
        })
      : null;
    opened.defer(
      startRetention({
        purge: async (...bounds) => {
          await embedded?.purge();
          return store.purge(...bounds);
        },
        retentionDays: config.retentionDays,
        now: Date.now,
        onPurged: log.purged,
        onFailed: log.purgeFailed,
      }),
    );
    log.started(urls);
    return {
      urls,
      firstRun,
      stop: async () => {
        await opened.disposeAsync();
        log.stopped();
      },
    };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

function openEmbeddedBroker(config: Config, store: Store, log: Log): Promise<EmbeddedBroker> {
  return createEmbeddedBroker({
    store,
    topicPrefix: config.mqtt.topicPrefix,
    now: Date.now,
    onEvent: log.brokerEvent,
    addressOf: (request) => clientAddress(request, config.trustedProxies),
  });
}

function openPlatformBroker({ mqtt }: Config, log: Log): MqttPublisher {
  if (mqtt.platform === null) throw new Error('There is no platform broker to open.');
  return createPlatformBroker(mqtt.platform, { now: Date.now, onStateChange: log.brokerState });
}

async function openChannels(
  config: Config,
  store: Store,
  publisher: MqttPublisher,
  opened: AsyncDisposableStack,
): Promise<ChannelSet> {
  const set = await createChannels(config, {
    store,
    egress: opened.adopt(createEgresses(config), closeEgresses),
    publisher,
    now: Date.now,
  });
  return opened.adopt(set, (each) => each.close());
}

async function closeConsole(app: FastifyInstance): Promise<void> {
  await drain(app.server);
  await app.close();
}

async function openListeners(
  config: Config,
  api: Server,
  consoleServer: Server,
  embedded: EmbeddedBroker | null,
): Promise<Gateway['urls']> {
  const { host } = config;
  return {
    api: await listen(api, host, config.port, 'TOCSIN_PORT'),
    console: await listen(consoleServer, host, config.consolePort, 'TOCSIN_CONSOLE_PORT'),
    ...(embedded !== null && { mqtt: await listenEmbedded(embedded, config) }),
  };
}

async function listenEmbedded(embedded: EmbeddedBroker, { host, mqtt }: Config): Promise<string> {
  try {
    return await embedded.listen(host, mqtt.embeddedPort);
  } catch (error) {
    throw listenProblem(error, mqtt.embeddedPort, 'TOCSIN_MQTT_PORT');
  }
}

function createApi(config: Config, store: Store, channels: Channels, log: Log): Server {
  const directory = createDirectory(store, () => performance.now());
  const newRequestId = createRequestIdSource();
  const app = createApp({
    accept: createAccept({
      store,
      directory,
      channels,
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
