// Drains the retry queues and resumes orphaned dispatches. Any number of processes may do this at once: dispatches and
// queues are held by lease.
import type { ChannelDefinitions, Channels } from '../core/channel.ts';
import { clockSkewMs, leaseMs } from '../core/lease.ts';
import type { Store, TargetQueue } from '../usecases/ports/index.ts';
import { createDeliverStored } from './deliver-stored.ts';
import type { DispatchLifecycle } from './dispatch-lifecycle.ts';
import { type ResumeDeps, resumeOrphans } from './resume-orphans.ts';
import { createDrainQueue, type DrainDeps } from './target-queue.ts';

const pollMs = 1000;
/** Interval of the check for times that a clock ahead of this one wrote; a clock that is set back is noticed at once. */
const checkClockMs = 60_000;
/** Queues that are drained at once. */
const maxQueues = 32;

export interface RedeliveryDeps extends Omit<DrainDeps, 'deliverStored' | 'definitions'> {
  store: DrainDeps['store'] & ResumeDeps['store'] & Pick<Store, 'targetQueues'>;
  channels: Channels;
  lifecycle: Pick<DispatchLifecycle, 'definitions' | 'writer' | 'recovery' | 'queues'>;
}

export interface Redelivery {
  /** Polls now instead of within a second; resolves when everything that was due has been attempted. */
  turn(): Promise<void>;
  /** Finishes the sends that are in flight, and releases the queues. */
  close(): Promise<void>;
}

export function startRedelivery(deps: RedeliveryDeps): Redelivery {
  const { store, now, onFailed } = deps;
  const { writer, recovery, queues } = deps.lifecycle;
  const definitions: ChannelDefinitions = deps.lifecycle.definitions;
  const closing = new AbortController();
  const deliverStored = createDeliverStored({ definitions, channels: deps.channels, recovery });
  const drainQueue = createDrainQueue({ ...deps, definitions, deliverStored }, closing.signal);
  /** Queues that are being drained. */
  const held = new Map<string, { queue: TargetQueue; draining: Promise<void> }>();
  let timer: NodeJS.Timeout | undefined;
  let polling: Promise<void> | null = null;
  let lastPoll = Number.NEGATIVE_INFINITY;
  let checkClockAt = Number.NEGATIVE_INFINITY;

  async function poll(): Promise<void> {
    await writer.flush();
    await checkClock();
    await resumeOrphans({ ...deps, definitions, writer, queues }, 'orphaned');
    while (!closing.signal.aborted && held.size < maxQueues) {
      const claimed = await store.targetQueues.claim(now(), now() + leaseMs, maxQueues - held.size);
      if (claimed.length === 0) break;
      for (const queue of claimed) begin(queue);
      if (held.size >= maxQueues) await Promise.race([...held.values()].map(({ draining }) => draining));
    }
  }

  async function checkClock(): Promise<void> {
    const time = now();
    const isSetBack = time < lastPoll - clockSkewMs;
    lastPoll = time;
    if (!isSetBack && performance.now() < checkClockAt) return;
    await store.targetQueues.resetTimesAhead(time, { wasSetBack: isSetBack });
    checkClockAt = performance.now() + checkClockMs;
  }

  function begin(queue: TargetQueue): void {
    const key = `${queue.ownerId}/${queue.channel}/${queue.target}`;
    const known = held.get(key);
    if (known !== undefined) {
      // The lease expired while this process drained the queue, and this process claimed it again.
      known.queue.leaseUntil = queue.leaseUntil;
      return;
    }
    const draining = drainQueue(queue)
      .catch(onFailed)
      .finally(() => held.delete(key));
    held.set(key, { queue, draining });
  }

  function schedule(): void {
    if (!closing.signal.aborted) timer = setTimeout(() => void run(), pollMs);
  }

  function run(): Promise<void> {
    clearTimeout(timer);
    polling ??= poll()
      .catch(onFailed)
      .finally(() => {
        polling = null;
        schedule();
      });
    return polling;
  }

  async function finish(): Promise<void> {
    await polling;
    await Promise.all([...held.values()].map(({ draining }) => draining));
  }

  schedule();

  return {
    async turn() {
      // A poll that is already running may have missed what is due now.
      await polling;
      await run();
      await finish();
    },
    async close() {
      closing.abort();
      clearTimeout(timer);
      await finish();
    },
  };
}
