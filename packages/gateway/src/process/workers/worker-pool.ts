// The primary: forks the workers, relays their messages to the broker that they share, and replaces those that exit or hang.
import cluster, { type Worker } from 'node:cluster';
import type { MqttPublisher } from '../../channels/mqtt/publisher.ts';
import { Problem } from '../../core/problem.ts';
import type { StoreFailure } from '../../core/store-failure.ts';
import type { MetricSet } from './aggregate-metrics.ts';
import { type FromPrimary, type FromWorker, isOfKind } from './messages.ts';
import { createPublishRelay } from './publish-relay.ts';
import { Heartbeat, heartbeatMs, RestartDelay } from './worker-health.ts';
import { MetricsRequest } from './worker-metrics.ts';

export interface WorkerPoolOptions {
  size: number;
  /** Port of the public API; 0: any. */
  port: number;
  /** The broker that the workers reach through the primary; null: each has its own connection. */
  publisher: MqttPublisher | null;
  /** Whether workers log readable text, like the primary, or JSON. */
  isLogForPeople: boolean;
  log: WorkerPoolLog;
  onStoreFailures(worker: number, failures: readonly StoreFailure[]): void;
}

export interface WorkerPoolLog {
  workerStarted(worker: number, pid: number): void;
  workerEnded(worker: number, how: Ending): void;
  workerHung(worker: number): void;
}

export interface Ending {
  code: number | null;
  signal: string | null;
  /** Error message of a worker that could not start. */
  problem?: string;
}

export interface WorkerPool {
  /** URL of the public API, the same for all workers. */
  url: string;
  /** Workers that do not respond in time are omitted. */
  metrics(): Promise<MetricSet[]>;
  /** Makes each worker reload its certificate. */
  reload(): void;
  /** Makes the workers drain; those that have not exited within the timeout are killed. */
  stop(withinMs: number): Promise<void>;
}

interface WorkerState {
  number: number;
  worker: Worker;
  heartbeat: Heartbeat;
  since: number;
  problem?: string;
  metrics: MetricsRequest;
}

/** Resolves when all workers listen; rejects, after stopping all of them, when the first of them cannot. */
export async function openWorkerPool(options: WorkerPoolOptions): Promise<WorkerPool> {
  const { size, log, publisher } = options;
  const workers = new Map<number, WorkerState>();
  const replacements = new Set<NodeJS.Timeout>();
  const started = Promise.withResolvers<void>();
  const listening = new Set<number>();
  let url = '';
  let port = options.port;
  let isStopping = false;
  let onEmpty = (): void => undefined;

  // The workers accept connections themselves. With Node's default policy, in which the primary accepts and hands them
  // over, a connection on its way to a worker that exits is never closed.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  // Workers run process.argv[1], the program of this process: bin/tocsin.js sets it to the build that it started.
  cluster.setupPrimary({
    args: ['serve', ...(options.isLogForPeople ? [] : ['--json'])],
    serialization: 'advanced',
    // stdout belongs to the primary; the output of workers goes to stderr, like their log.
    stdio: ['ignore', 2, 2, 'ipc'],
  });

  function fork(number: number, restart: RestartDelay): void {
    const worker = cluster.fork({ TOCSIN_WORKER: String(number), TOCSIN_PORT: String(port) });
    const metrics = new MetricsRequest(() => post(worker, { kind: 'requestMetrics' }));
    const state: WorkerState = { number, worker, heartbeat: new Heartbeat(), since: performance.now(), metrics };
    workers.set(number, state);
    const publish =
      publisher && createPublishRelay(publisher, (outcomes) => post(worker, { kind: 'outcomes', outcomes }));
    worker.on('message', (message: unknown) => {
      if (isOfKind<FromWorker, 'alive'>(message, 'alive')) state.heartbeat.received();
      else if (isOfKind<FromWorker, 'publish'>(message, 'publish')) publish?.(message.messages);
      else if (isOfKind<FromWorker, 'metrics'>(message, 'metrics')) metrics.settle(message.metrics);
      else if (isOfKind<FromWorker, 'listening'>(message, 'listening')) listens(state, message.url);
      else if (isOfKind<FromWorker, 'storeFailures'>(message, 'storeFailures')) {
        options.onStoreFailures(number, message.failures);
      } else if (isOfKind<FromWorker, 'failed'>(message, 'failed')) state.problem = message.problem;
    });
    // The process could not be created, so no exit event follows.
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) ended(state, restart, { code: null, signal: null, problem: error.message });
    });
    worker.once('exit', (code: number | null, signal: string | null) => {
      ended(state, restart, { code, signal, ...(state.problem !== undefined && { problem: state.problem }) });
    });
  }

  function listens({ number, worker, heartbeat }: WorkerState, at: string): void {
    heartbeat.up();
    url = at;
    log.workerStarted(number, worker.process.pid ?? 0);
    listening.add(number);
    if (listening.size === size) started.resolve();
  }

  function ended({ number, since, metrics }: WorkerState, restart: RestartDelay, how: Ending): void {
    workers.delete(number);
    metrics.settle(null);
    options.onStoreFailures(number, []);
    if (workers.size === 0) {
      // A port that the system chose is kept, although no worker listens on it at the moment.
      if (options.port === 0 && url !== '') port = Number(new URL(url).port);
      onEmpty();
    }
    if (isStopping) return;
    if (listening.size < size) {
      started.reject(
        new Problem(how.problem ?? `Worker ${number} exited (${how.signal ?? how.code}) before it was ready.`),
      );
      return;
    }
    log.workerEnded(number, how);
    const timer = setTimeout(
      () => {
        replacements.delete(timer);
        fork(number, restart);
      },
      restart.afterMs(performance.now() - since),
    );
    replacements.add(timer);
  }

  const heartbeats = setInterval(() => {
    for (const { number, worker, heartbeat } of workers.values()) {
      post(worker, { kind: 'ping' });
      if (!heartbeat.sent() || isStopping) continue;
      log.workerHung(number);
      worker.process.kill('SIGKILL');
    }
  }, heartbeatMs);

  async function stop(withinMs: number): Promise<void> {
    isStopping = true;
    for (const timer of replacements) clearTimeout(timer);
    const empty = new Promise<void>((resolve) => {
      onEmpty = resolve;
      if (workers.size === 0) resolve();
    });
    for (const { worker } of workers.values()) post(worker, { kind: 'stop' });
    const killTimer = setTimeout(() => {
      for (const { worker } of workers.values()) worker.process.kill('SIGKILL');
    }, withinMs);
    await empty;
    clearTimeout(killTimer);
    clearInterval(heartbeats);
  }

  for (let number = 1; number <= size; number += 1) fork(number, new RestartDelay());
  try {
    await started.promise;
  } catch (error) {
    await stop(0);
    throw error;
  }
  return {
    url,
    metrics: async () => {
      const sets = await Promise.all([...workers.values()].map(({ metrics }) => metrics.send()));
      return sets.filter((set) => set !== null);
    },
    reload: () => {
      for (const { worker } of workers.values()) post(worker, { kind: 'reload' });
    },
    stop,
  };
}

/** Ignores send errors: the exit event reports a worker that is gone. */
function post(worker: Worker, message: FromPrimary): void {
  worker.send(message, () => undefined);
}
