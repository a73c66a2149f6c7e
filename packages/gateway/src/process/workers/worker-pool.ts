// The head's side: forks the workers, answers for the broker that they share, and replaces those that die or hang.
import cluster, { type Worker } from 'node:cluster';
import type { MqttPublisher } from '../../channels/mqtt/publisher.ts';
import { Problem } from '../../core/problem.ts';
import type { StoreFailure } from '../../core/store-failure.ts';
import type { MetricSet } from './aggregate-metrics.ts';
import { type FromHead, type FromWorker, isOfKind } from './messages.ts';
import { openPublishDesk } from './publish-relay.ts';
import { askEveryMs, Pulse, RestartDelay } from './worker-health.ts';
import { MetricsInquiry } from './worker-metrics.ts';

export interface CrewOptions {
  size: number;
  /** Of the public API; 0: any. */
  port: number;
  /** The broker that the workers reach through the head; null: each has a connection of its own. */
  publisher: MqttPublisher | null;
  /** Their log lines look as those of the head. */
  isLogForPeople: boolean;
  log: CrewLog;
  onStoreFailures(worker: number, failures: readonly StoreFailure[]): void;
}

export interface CrewLog {
  workerStarted(worker: number, pid: number): void;
  workerEnded(worker: number, how: Ending): void;
  workerHung(worker: number): void;
}

export interface Ending {
  code: number | null;
  signal: string | null;
  /** What it said itself, where it could not start. */
  problem?: string;
}

export interface Crew {
  /** Of the public API, the same for all. */
  url: string;
  /** Those who do not answer soon are left out. */
  metrics(): Promise<MetricSet[]>;
  /** Lets each take its certificate from the files again. */
  reload(): void;
  /** Lets them finish what runs; whoever has not ended after so long is killed. */
  stop(withinMs: number): Promise<void>;
}

interface Member {
  number: number;
  worker: Worker;
  pulse: Pulse;
  since: number;
  problem?: string;
  metrics: MetricsInquiry;
}

/** Resolves when all of them listen; rejects, with none left running, when the first of them cannot. */
export async function openCrew(options: CrewOptions): Promise<Crew> {
  const { size, log, publisher } = options;
  const members = new Map<number, Member>();
  const replacements = new Set<NodeJS.Timeout>();
  const started = Promise.withResolvers<void>();
  const listening = new Set<number>();
  let url = '';
  let port = options.port;
  let isStopping = false;
  let onEmpty = (): void => undefined;

  // The workers take connections off the port themselves. Node's other way, in which the head takes them and hands them
  // over, never lets go of one that was on its way to a worker that died.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  // Workers run process.argv[1], the program of this process: bin/tocsin.js sets it to the build that it started.
  cluster.setupPrimary({
    args: ['serve', ...(options.isLogForPeople ? [] : ['--json'])],
    serialization: 'advanced',
    // stdout is the head's alone; whatever a worker may print goes beside its log.
    stdio: ['ignore', 2, 2, 'ipc'],
  });

  function fork(number: number, restart: RestartDelay): void {
    const worker = cluster.fork({ TOCSIN_WORKER: String(number), TOCSIN_PORT: String(port) });
    const metrics = new MetricsInquiry(() => post(worker, { kind: 'tellMetrics' }));
    const member: Member = { number, worker, pulse: new Pulse(), since: performance.now(), metrics };
    members.set(number, member);
    const publish = publisher && openPublishDesk(publisher, (outcomes) => post(worker, { kind: 'outcomes', outcomes }));
    worker.on('message', (message: unknown) => {
      if (isOfKind<FromWorker, 'alive'>(message, 'alive')) member.pulse.answered();
      else if (isOfKind<FromWorker, 'publish'>(message, 'publish')) publish?.(message.messages);
      else if (isOfKind<FromWorker, 'metrics'>(message, 'metrics')) metrics.answer(message.metrics);
      else if (isOfKind<FromWorker, 'listening'>(message, 'listening')) listens(member, message.url);
      else if (isOfKind<FromWorker, 'storeFailures'>(message, 'storeFailures')) {
        options.onStoreFailures(number, message.failures);
      } else if (isOfKind<FromWorker, 'failed'>(message, 'failed')) member.problem = message.problem;
    });
    // The process could not be made at all: no exit will follow.
    worker.on('error', (error) => {
      if (worker.process.pid === undefined)
        ended(member, restart, { code: null, signal: null, problem: error.message });
    });
    worker.once('exit', (code: number | null, signal: string | null) => {
      ended(member, restart, { code, signal, ...(member.problem !== undefined && { problem: member.problem }) });
    });
  }

  function listens({ number, worker, pulse }: Member, at: string): void {
    pulse.up();
    url = at;
    log.workerStarted(number, worker.process.pid ?? 0);
    listening.add(number);
    if (listening.size === size) started.resolve();
  }

  function ended({ number, since, metrics }: Member, restart: RestartDelay, how: Ending): void {
    members.delete(number);
    metrics.answer(null);
    options.onStoreFailures(number, []);
    if (members.size === 0) {
      // Whichever port was free at the start is to stay the same, though nobody holds it at the moment.
      if (options.port === 0 && url !== '') port = Number(new URL(url).port);
      onEmpty();
    }
    if (isStopping) return;
    if (listening.size < size) {
      started.reject(
        new Problem(how.problem ?? `Worker ${number} ended (${how.signal ?? how.code}) before it was ready.`),
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

  const asking = setInterval(() => {
    for (const { number, worker, pulse } of members.values()) {
      post(worker, { kind: 'areYouAlive' });
      if (!pulse.ask() || isStopping) continue;
      log.workerHung(number);
      worker.process.kill('SIGKILL');
    }
  }, askEveryMs);

  async function stop(withinMs: number): Promise<void> {
    isStopping = true;
    for (const timer of replacements) clearTimeout(timer);
    const empty = new Promise<void>((resolve) => {
      onEmpty = resolve;
      if (members.size === 0) resolve();
    });
    for (const { worker } of members.values()) post(worker, { kind: 'stop' });
    const cutOff = setTimeout(() => {
      for (const { worker } of members.values()) worker.process.kill('SIGKILL');
    }, withinMs);
    await empty;
    clearTimeout(cutOff);
    clearInterval(asking);
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
      const sets = await Promise.all([...members.values()].map(({ metrics }) => metrics.ask()));
      return sets.filter((set) => set !== null);
    },
    reload: () => {
      for (const { worker } of members.values()) post(worker, { kind: 'reload' });
    },
    stop,
  };
}

/** A worker that is gone has nobody left who waits for an answer. */
function post(worker: Worker, message: FromHead): void {
  worker.send(message, () => undefined);
}
