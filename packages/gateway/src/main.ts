// Composition root: config → open → listen → drain, for the two kinds of process (gateway and worker).
import type { EmbeddedBroker } from './channels/mqtt/embedded/index.ts';
import { mqttSettingsOf } from './channels/mqtt/index.ts';
import { channels } from './channels/registry.ts';
import { createBrokerIfEmbedded, openOwnChannels, openRedelivery } from './composition/channels.ts';
import { addUpgrades, openConsole } from './composition/console.ts';
import { openApi } from './composition/public-api.ts';
import { createRuntime, lockData, type Runtime } from './composition/runtime.ts';
import { reportWalDamage, startStoreUpkeep } from './composition/store-upkeep.ts';
import type { Config } from './config/server.ts';
import { createReadiness } from './console/readiness.ts';
import { byName, deviceUrls } from './core/device-urls.ts';
import type { Log } from './observability/log.ts';
import type { Metrics } from './observability/metrics.ts';
import { listen, listenProblem } from './process/listen.ts';
import { primaryBudget, ShutdownStack, singleProcessBudget, workerBudget } from './process/shutdown.ts';
import { AggregatedMetrics, type MetricSet } from './process/workers/aggregate-metrics.ts';
import type { PrimaryLink } from './process/workers/primary-link.ts';
import { openWorkerPool, type WorkerPool } from './process/workers/worker-pool.ts';
import { endFirstRun, type FirstRun, prepareFirstRun } from './usecases/first-run.ts';
import { systemEnvironment } from './usecases/registration.ts';
import { startRetention } from './usecases/retention.ts';
import { StoreHealth } from './usecases/store-health.ts';

export interface Gateway {
  urls: { api: string; console: string; mqtt?: string };
  /** Where people open the inbox in a browser. */
  inbox: string;
  firstRun: FirstRun | null;
  /** Must be called after the first run was printed; until then the next start prints it again. */
  firstRunShown(): Promise<void>;
  metrics: Metrics;
  /** Reloads the certificate from its files. */
  reload(): void;
  /** Stops accepting, finishes requests in flight, closes channels and store, all within one time budget. */
  stop(): Promise<void>;
}

/** Starts the whole service. With several workers this is the primary, and the workers serve the public API. */
export async function startGateway(config: Config, log: Log): Promise<Gateway> {
  if (config.unknownVariables.length > 0) log.unknownVariables(config.unknownVariables);
  // Closed in the reverse order of opening: the API, then channels and broker, then the console, then the store.
  const budget = config.workers === 1 ? singleProcessBudget : primaryBudget;
  const opened = new ShutdownStack({ onLate: log.stopLate, onFailed: log.stopFailed }, budget);
  try {
    const isLocked = lockData(config, opened);
    reportWalDamage(config, log);
    const runtime = await createRuntime(config, log, opened);
    if (!isLocked) log.dataDirectoryNotLocked(config.dataDir);
    const { store, tls } = runtime;
    const { metrics } = runtime.observability;
    metrics.watchDeliveries(store.deliveries);
    const readiness = createReadiness(
      {
        check: async () => {
          await store.check();
          await runtime.storeHealth.check(store);
        },
      },
      channels.map(({ name }) => name),
    );
    const aggregated = config.workers === 1 ? null : new AggregatedMetrics(metrics.registry);
    const consoleServer = await openConsole(runtime, readiness, aggregated ?? metrics.registry);
    const embedded = await createBrokerIfEmbedded(runtime);
    if (embedded !== null) store.claimBroker(log.brokerShared);
    const set = await openOwnChannels(runtime, embedded);
    const listeners = { api: '', console: '', mqtt: null as string | null };
    const stopping = new AbortController();
    consoleServer.addApp({
      channels: set,
      knowsLastSeen: embedded !== null,
      listeners: () => listeners,
      stopping: stopping.signal,
    });
    if (embedded !== null) addUpgrades(consoleServer, embedded);
    readiness.watch(set.opened);
    openRetention(runtime, embedded);
    opened.defer(startStoreUpkeep({ store, onDamage: log.storeDamaged, onFailed: log.upkeepFailed }), 'store upkeep');
    await openRedelivery(runtime, set);
    const workerPool = config.workers === 1 ? null : await openWorkers(runtime, embedded);
    if (workerPool !== null) aggregated?.addFrom(workerPool.metrics);
    listeners.api = workerPool?.url ?? (await openApi(runtime, set.channels));
    listeners.mqtt = embedded && (await listenEmbedded(embedded, config));
    listeners.console = await listen(consoleServer.server, config.host, config.consolePort, 'TOCSIN_CONSOLE_PORT');
    const mqttSettings = mqttSettingsOf(config.channels);
    const { mqtt, ...others } = listeners;
    const urls = { ...others, ...(mqtt !== null && { mqtt }) };
    const consoleUrl = config.publicAddresses.consoleUrl ?? new URL(byName(urls.console)).origin;
    // After the ports are open: the first key is shown only once, so a start that fails must not consume it.
    const firstRun = config.firstRun
      ? await prepareFirstRun(store, systemEnvironment, {
          firstKey: config.firstKey,
          topicPrefix: mqttSettings.topicPrefix,
          urls: deviceUrls({ publicAddresses: config.publicAddresses, mqtt: mqttSettings }, listeners),
          consoleUrl,
        })
      : null;
    // The rows of the first run must survive damage to the write-ahead log.
    if (firstRun !== null) await store.maintenance.checkpoint().catch(log.upkeepFailed);
    log.started(urls);
    return {
      urls,
      inbox: new URL('/', consoleUrl).href,
      firstRun,
      firstRunShown: () => endFirstRun(store),
      metrics,
      reload: () => {
        void tls?.reload();
        workerPool?.reload();
      },
      stop: async () => {
        readiness.setStopping();
        stopping.abort();
        await opened.disposeAsync();
        log.stopped();
      },
    };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

/** Starts one of several processes that serve the public API; the primary that forked it does everything else. */
export async function startWorker(
  config: Config,
  log: Log,
  primary: PrimaryLink,
): Promise<Pick<Gateway, 'reload' | 'stop'>> {
  const opened = new ShutdownStack({ onLate: log.stopLate, onFailed: log.stopFailed }, workerBudget);
  try {
    const runtime = await createRuntime(config, log, opened, new StoreHealth(primary.storeFailures));
    const { tls, observability } = runtime;
    const { platform } = mqttSettingsOf(config.channels);
    const set = await openOwnChannels(runtime, platform === null ? primary.publisher : null);
    const reload = (): void => void tls?.reload();
    primary.serve({ metrics: () => observability.metrics.registry.getMetricsAsJSON() as Promise<MetricSet>, reload });
    await primary.listening(await openApi(runtime, set.channels));
    return { reload, stop: () => opened.disposeAsync() };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

function openRetention({ config, store, log, opened }: Runtime, embedded: EmbeddedBroker | null): void {
  opened.defer(
    startRetention({
      store: {
        ...store,
        maintenance: {
          ...store.maintenance,
          purge: async (before, now, signal) => {
            await embedded?.purge(now);
            return store.maintenance.purge(before, now, signal);
          },
        },
      },
      retentionDays: config.retentionDays,
      now: Date.now,
      monotonicNow: () => performance.now(),
      onPurged: log.purged,
      onClockDoubt: log.clockDoubted,
      onFailed: log.purgeFailed,
    }),
    'retention',
  );
}

async function openWorkers(
  { config, log, opened, storeHealth }: Runtime,
  embedded: EmbeddedBroker | null,
): Promise<WorkerPool> {
  const { workers: size, port } = config;
  const workerPool = await openWorkerPool({
    size,
    port,
    publisher: embedded,
    isLogForPeople: log.isForPeople,
    log,
    onStoreFailures: (worker, failures) => storeHealth.noteWorker(worker, failures),
  });
  opened.defer(() => workerPool.stop(workerBudget.totalMs + 300), 'workers');
  return workerPool;
}

async function listenEmbedded(embedded: EmbeddedBroker, { host, channels }: Config): Promise<string> {
  const { embeddedPort: port } = mqttSettingsOf(channels);
  try {
    return await embedded.listen(host, port);
  } catch (error) {
    throw listenProblem(error, { host, port, variable: 'TOCSIN_MQTT_PORT' });
  }
}
