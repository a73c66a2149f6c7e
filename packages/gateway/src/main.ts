// Composition root: config → open → listen → drain. Two kinds of process are put together here.
import type { EmbeddedBroker } from './channels/mqtt/embedded/index.ts';
import { createOwnBroker, openChannels, openRedelivery } from './composition/channels.ts';
import { addConsoleApi, addUpgrades, openConsole } from './composition/console.ts';
import { openApi } from './composition/public-api.ts';
import { type Foundation, layFoundation, lockData } from './composition/runtime.ts';
import { reportWalDamage, startStoreUpkeep } from './composition/store-upkeep.ts';
import type { Config } from './config/server.ts';
import { createReadiness } from './console/readiness.ts';
import { byName, deviceUrls } from './core/device-urls.ts';
import type { Log } from './observability/log.ts';
import type { Metrics } from './observability/metrics.ts';
import { listen, listenProblem } from './process/listen.ts';
import { headBudget, OrderlyStop, ownBudget, workerBudget } from './process/shutdown.ts';
import { GatheredMetrics, type MetricSet } from './process/workers/aggregate-metrics.ts';
import type { HeadLink } from './process/workers/primary-link.ts';
import { type Crew, openCrew } from './process/workers/worker-pool.ts';
import { endFirstRun, type FirstRun, prepareFirstRun } from './usecases/first-run.ts';
import { systemMakers } from './usecases/registration.ts';
import { startRetention } from './usecases/retention.ts';
import { StoreHealth } from './usecases/store-health.ts';

export interface Gateway {
  urls: { api: string; console: string; mqtt?: string };
  /** Where people open the inbox in a browser. */
  inbox: string;
  firstRun: FirstRun | null;
  /** To be called once the first run was shown; until then the next start shows it again. */
  firstRunShown(): Promise<void>;
  metrics: Metrics;
  /** Takes the certificate from its files again. */
  reload(): void;
  /** Stops accepting, finishes what runs, closes channels and store, all within one budget. */
  stop(): Promise<void>;
}

/** Everything; with several workers everything but the requests, which they serve. */
export async function startGateway(config: Config, log: Log): Promise<Gateway> {
  if (config.unknownVariables.length > 0) log.unknownVariables(config.unknownVariables);
  // What is opened later is closed earlier: the API, then channels and broker, then the console, then the store.
  const budget = config.workers === 1 ? ownBudget : headBudget;
  const opened = new OrderlyStop({ onLate: log.stopLate, onFailed: log.stopFailed }, budget);
  try {
    const isLocked = lockData(config, opened);
    reportWalDamage(config, log);
    const foundation = await layFoundation(config, log, opened);
    if (!isLocked) log.dataFolderNotLocked(config.dataDir);
    const { store, tls } = foundation;
    const { metrics } = foundation.observability;
    metrics.watchDeliveries(store.deliveries);
    const readiness = createReadiness({
      check: async () => {
        await store.check();
        await foundation.storeHealth.check(store);
      },
    });
    const gathered = config.workers === 1 ? null : new GatheredMetrics(metrics.registry);
    const consoleApp = await openConsole(foundation, readiness, gathered ?? metrics.registry);
    const embedded = await createOwnBroker(foundation);
    if (embedded !== null) store.claimBroker(log.brokerShared);
    const set = await openChannels(foundation, embedded);
    const listeners = { api: '', console: '', mqtt: null as string | null };
    const stopping = new AbortController();
    await addConsoleApi(consoleApp, foundation, {
      channels: set,
      knowsLastSeen: embedded !== null,
      listeners: () => listeners,
      stopping: stopping.signal,
    });
    await consoleApp.ready();
    if (embedded !== null) addUpgrades(consoleApp, embedded);
    readiness.watch(set.managed);
    openRetention(foundation, embedded);
    opened.defer(startStoreUpkeep({ store, onDamage: log.storeDamaged, onFailed: log.upkeepFailed }), 'store upkeep');
    await openRedelivery(foundation, set);
    const crew = config.workers === 1 ? null : await openWorkers(foundation, embedded);
    if (crew !== null) gathered?.addFrom(crew.metrics);
    listeners.api = crew?.url ?? (await openApi(foundation, set.channels));
    listeners.mqtt = embedded && (await listenEmbedded(embedded, config));
    listeners.console = await listen(consoleApp.server, config.host, config.consolePort, 'TOCSIN_CONSOLE_PORT');
    const { mqtt, ...others } = listeners;
    const urls = { ...others, ...(mqtt !== null && { mqtt }) };
    const consoleUrl = config.publicAddresses.consoleUrl ?? new URL(byName(urls.console)).origin;
    // After the ports are taken: a start that fails must not use up the one moment at which the first key is shown.
    const firstRun = config.firstRun
      ? await prepareFirstRun(store, systemMakers, {
          firstKey: config.firstKey,
          topicPrefix: config.mqtt.topicPrefix,
          urls: deviceUrls(config, listeners),
          consoleUrl,
        })
      : null;
    // What the first run made must not depend on the write-ahead log.
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
        crew?.reload();
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

/** One of several processes that serve the public API; the rest is done by the head that forked it. */
export async function startWorker(config: Config, log: Log, head: HeadLink): Promise<Pick<Gateway, 'reload' | 'stop'>> {
  const opened = new OrderlyStop({ onLate: log.stopLate, onFailed: log.stopFailed }, workerBudget);
  try {
    const foundation = await layFoundation(config, log, opened, new StoreHealth(head.storeFailures));
    const { tls, observability } = foundation;
    const { channels } = await openChannels(foundation, config.mqtt.platform === null ? head.publisher : null);
    const reload = (): void => void tls?.reload();
    head.serve({ metrics: () => observability.metrics.registry.getMetricsAsJSON() as Promise<MetricSet>, reload });
    await head.listening(await openApi(foundation, channels));
    return { reload, stop: () => opened.disposeAsync() };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

function openRetention({ config, store, log, opened }: Foundation, embedded: EmbeddedBroker | null): void {
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
  { config, log, opened, storeHealth }: Foundation,
  embedded: EmbeddedBroker | null,
): Promise<Crew> {
  const { workers: size, port } = config;
  const crew = await openCrew({
    size,
    port,
    publisher: embedded,
    isLogForPeople: log.isForPeople,
    log,
    onStoreFailures: (worker, failures) => storeHealth.noteWorker(worker, failures),
  });
  opened.defer(() => crew.stop(workerBudget.totalMs + 300), 'workers');
  return crew;
}

async function listenEmbedded(embedded: EmbeddedBroker, { host, mqtt }: Config): Promise<string> {
  try {
    return await embedded.listen(host, mqtt.embeddedPort);
  } catch (error) {
    throw listenProblem(error, { host, port: mqtt.embeddedPort, variable: 'TOCSIN_MQTT_PORT' });
  }
}
