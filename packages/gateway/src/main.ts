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
import { createReadiness } from './console/readiness.ts';
import { deviceUrls } from './core/device-urls.ts';
import { createUuidV7Source } from './core/uuid-v7.ts';
import { createAccept } from './gateway/accept.ts';
import { callOffAt } from './gateway/call-off.ts';
import { createDirectory } from './gateway/directory.ts';
import { type FirstRun, prepareFirstRun } from './gateway/first-run.ts';
import { createFollowUp, type FollowUp } from './gateway/follow-up.ts';
import { createIdempotency } from './gateway/idempotency.ts';
import { observeChannels, observeSaves } from './gateway/observe.ts';
import type { Channels, Store } from './gateway/ports.ts';
import { type Redelivery, startRedelivery } from './gateway/redeliver.ts';
import { systemMakers } from './gateway/registration.ts';
import { startRetention } from './gateway/retention.ts';
import { createApp } from './http/app.ts';
import { clientAddress } from './http/client-address.ts';
import { createLimits } from './http/limits.ts';
import { createApiServer, type ServerMaker } from './http/server.ts';
import { drain, listen, listenProblem } from './listen.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { createObservability, type Observability } from './observability.ts';
import { OrderlyStop, workerTotalMs } from './stop.ts';
import { openStore } from './store/open-store.ts';
import { openTls, type Tls } from './tls/index.ts';
import { type Crew, openCrew } from './workers/crew.ts';
import { GatheredMetrics, type MetricSet } from './workers/gathered-metrics.ts';
import type { HeadLink } from './workers/head-link.ts';

export interface Gateway {
  urls: { api: string; console: string; mqtt?: string };
  firstRun: FirstRun | null;
  metrics: Metrics;
  /** Takes the certificate from its files again. */
  reload(): void;
  /** Stops accepting, finishes what runs, closes channels and store, all within one budget. */
  stop(): Promise<void>;
}

export async function startGateway(config: Config, log: Log): Promise<Gateway> {
  if (config.unknownVariables.length > 0) log.unknownVariables(config.unknownVariables);
  // What is opened later is closed earlier: the API, then channels and broker, then the console, then the store.
  const opened = new OrderlyStop({ onLate: log.stopLate, onFailed: log.stopFailed });
  try {
    const observability = opened.adopt(createObservability(config, packageJson.version, log), (each) => each.close());
    const { metrics } = observability;
    const store = opened.adopt(
      await openStore({ ...config, onBatch: metrics.onBatch, onMasterKeyMissing: log.masterKeyMissing }, 'create'),
      (each) => each.close(),
      'store',
    );
    metrics.watchStore(store);
    const followUp = opened.adopt(openFollowUp(config, store, log), (each) => each.close(), 'follow-up');
    const readiness = createReadiness(store);
    const tls = await openCertificate(config, log, opened);
    const gathered = config.workers === 1 ? null : new GatheredMetrics(metrics.registry);
    const consoleApp = opened.adopt(
      createConsole({
        readiness,
        metrics: { source: gathered ?? metrics.registry, token: config.metricsToken },
        ...serverMaker(tls),
      }),
      closeConsole,
      'console',
    );
    const embedded = config.mqtt.platform === null ? await openEmbeddedBroker(config, store, observability) : null;
    const broker = embedded ?? openPlatformBroker(config, log);
    const publisher = opened.adopt(broker, (each) => each.close(), 'broker');
    await consoleApp.ready();
    if (embedded !== null) consoleApp.server.on('upgrade', embedded.handleUpgrade);
    const { channels, managed } = await openChannels(config, store, publisher, metrics, opened);
    // After the channels: by then their breaker is closed.
    publisher.onConnected?.(() => followUp.hasten('mqtt'));
    const { email } = managed;
    if (email !== null) followUp.recovery.probeWith('email', async () => (await email.check()) === null);
    readiness.watch(managed);
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
      'retention',
    );
    opened.adopt(openRedelivery(store, channels, followUp, observability, log), (each) => each.close(), 'redelivery');
    const crew = config.workers === 1 ? null : await openWorkers(config, embedded, log, opened);
    if (crew !== null) gathered?.addFrom(crew.metrics);
    const urls = {
      api: crew?.url ?? (await openApi(config, store, channels, followUp, log, observability, tls, opened)),
      ...(await openListeners(config, consoleApp.server, embedded)),
    };
    // After the ports are taken: a start that fails must not use up the one moment at which the first key is shown.
    const firstRun = config.firstRun
      ? await prepareFirstRun(store, systemMakers, {
          firstKey: config.firstKey,
          topicPrefix: config.mqtt.topicPrefix,
          urls: deviceUrls(config.mqtt.platform?.url ?? null, { console: urls.console, mqtt: urls.mqtt ?? null }),
        })
      : null;
    log.started(urls);
    return {
      urls,
      firstRun,
      metrics,
      reload: () => {
        void tls?.reload();
        crew?.reload();
      },
      stop: async () => {
        readiness.setStopping();
        await opened.disposeAsync();
        log.stopped();
      },
    };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

/** One of several processes that serve the public API; the rest is done by the head that forked it. */
export async function startWorker(config: Config, log: Log, head: HeadLink): Promise<Pick<Gateway, 'reload' | 'stop'>> {
  const opened = new OrderlyStop({ onLate: log.stopLate, onFailed: log.stopFailed }, workerTotalMs);
  try {
    const observability = opened.adopt(createObservability(config, packageJson.version, log), (each) => each.close());
    const { metrics } = observability;
    const store = opened.adopt(
      await openStore({ ...config, onBatch: metrics.onBatch, onMasterKeyMissing: log.masterKeyMissing }, 'create'),
      (each) => each.close(),
      'store',
    );
    const followUp = opened.adopt(openFollowUp(config, store, log), (each) => each.close(), 'follow-up');
    const broker = config.mqtt.platform === null ? head.publisher : openPlatformBroker(config, log);
    const publisher = opened.adopt(broker, (each) => each.close(), 'broker');
    const { channels } = await openChannels(config, store, publisher, metrics, opened);
    const tls = await openCertificate(config, log, opened);
    const reload = (): void => void tls?.reload();
    head.serve({ metrics: () => metrics.registry.getMetricsAsJSON() as Promise<MetricSet>, reload });
    await head.listening(await openApi(config, store, channels, followUp, log, observability, tls, opened));
    return { reload, stop: () => opened.disposeAsync() };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

function openEmbeddedBroker(config: Config, store: Store, { onBrokerEvent }: Observability): Promise<EmbeddedBroker> {
  return createEmbeddedBroker({
    store,
    topicPrefix: config.mqtt.topicPrefix,
    now: Date.now,
    onEvent: onBrokerEvent,
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
  observer: Metrics,
  opened: OrderlyStop,
): Promise<ChannelSet> {
  const set = await createChannels(config, {
    store,
    egress: opened.adopt(createEgresses(config), closeEgresses),
    publisher,
    now: Date.now,
    observer,
  });
  opened.adopt(set, (each) => each.close(), 'channels');
  return { ...set, channels: callOffAt(opened.lastCall, set.channels) };
}

function openFollowUp({ maxWaitingPerOwner }: Config, store: Store, log: Log): FollowUp {
  return createFollowUp({
    store,
    maxWaitingPerOwner,
    now: Date.now,
    random: Math.random,
    onFailed: log.redeliveryFailed,
  });
}

function openRedelivery(
  store: Store,
  channels: Channels,
  followUp: FollowUp,
  { deliveryObserver }: Observability,
  log: Log,
): Redelivery {
  return startRedelivery({
    store,
    channels: observeChannels(channels, 'redelivery', deliveryObserver),
    followUp,
    now: Date.now,
    random: Math.random,
    onFailed: log.redeliveryFailed,
    onGivenUp: log.givenUp,
  });
}

async function openCertificate({ tls }: Config, log: Log, opened: OrderlyStop): Promise<Tls | null> {
  if (tls === null) return null;
  const notices = { onLoaded: log.certificateLoaded, onKept: log.certificateKept };
  return opened.adopt(await openTls(tls, notices), (each) => each.close());
}

/** Absent for plain HTTP. */
function serverMaker(tls: Tls | null): { createServer?: ServerMaker } {
  return tls === null ? {} : { createServer: tls.createServer };
}

async function closeConsole(app: FastifyInstance, signal: AbortSignal): Promise<void> {
  await drain(app.server, signal);
  await app.close();
}

async function openApi(
  config: Config,
  store: Store,
  channels: Channels,
  followUp: FollowUp,
  log: Log,
  observability: Observability,
  tls: Tls | null,
  opened: OrderlyStop,
): Promise<string> {
  const api = opened.adopt(createApi(config, store, channels, followUp, log, observability, tls), drain, 'requests');
  return listen(api, config.host, config.port, 'TOCSIN_PORT');
}

async function openWorkers(
  { workers, port }: Config,
  embedded: EmbeddedBroker | null,
  log: Log,
  opened: OrderlyStop,
): Promise<Crew> {
  const crew = await openCrew({ size: workers, port, publisher: embedded, isLogForPeople: log.isForPeople, log });
  opened.defer(() => crew.stop(workerTotalMs + 700), 'workers');
  return crew;
}

async function openListeners(
  config: Config,
  consoleServer: Server,
  embedded: EmbeddedBroker | null,
): Promise<Omit<Gateway['urls'], 'api'>> {
  const { host } = config;
  return {
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

function createApi(
  config: Config,
  store: Store,
  channels: Channels,
  followUp: FollowUp,
  log: Log,
  observability: Observability,
  tls: Tls | null,
): Server {
  const { requestLog, deliveryObserver, aroundRequests, onRefused } = observability;
  const directory = createDirectory(store, () => performance.now());
  store.onChange(directory.changed);
  const newRequestId = createRequestIdSource();
  const isAlone = config.workers === 1 && config.databaseUrl === null;
  const sharedLimits = isAlone ? null : { store, onChange: log.limitsShared };
  const app = createApp({
    accept: createAccept({
      store: observeSaves(store, deliveryObserver),
      directory,
      channels: observeChannels(channels, 'first', deliveryObserver),
      followUp,
      newId: createUuidV7Source(Date.now, randomUUID),
      now: Date.now,
      onStoreFailure: log.storeFailed,
    }),
    idempotency: createIdempotency({ store, now: Date.now }),
    authenticator: { directory, store, limits: createLimits(config.rateLimit, sharedLimits), now: Date.now },
    addressPolicy: { allowed: config.customBrokerAllow },
    trustedProxies: config.trustedProxies,
    maxBodyBytes: config.maxBodyBytes,
    version: packageJson.version,
    newRequestId,
    now: Date.now,
    log: requestLog,
  });
  return createApiServer({
    app: aroundRequests(app),
    maxBodyBytes: config.maxBodyBytes,
    newRequestId,
    onRefused,
    ...serverMaker(tls),
  });
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
