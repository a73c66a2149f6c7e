// What a first attempt could not deliver is tried again, and what a crash cut off between storing and sending is taken
// up. Any number of processes may do this at once: dispatches and lanes are held by lease.

import { clockSkewMs, leaseMs } from '../core/lease.ts';
import type { Channels, Store, TargetQueue } from '../usecases/ports/index.ts';
import { createTell } from './deliver-stored.ts';
import type { FollowUp } from './dispatch-lifecycle.ts';
import { type LeftBehindParts, takeUpLeftBehind } from './resume-orphans.ts';
import { createLaneWork, type LaneParts } from './target-queue.ts';

const pollMs = 1000;
/** Between two looks for what a clock that ran ahead left; one that is set back is noticed at once. */
const lookAheadMs = 60_000;
/** Lanes worked on at once. */
const maxLanes = 32;

export interface RedeliveryParts extends Omit<LaneParts, 'tell'> {
  store: LaneParts['store'] & LeftBehindParts['store'] & Pick<Store, 'targetQueues'>;
  channels: Channels;
  followUp: Pick<FollowUp, 'settlements' | 'recovery' | 'queues'>;
}

export interface Redelivery {
  /** Looks now instead of within a second; resolves when all that was due has had its turn. */
  turn(): Promise<void>;
  /** Finishes what is being sent at this moment, and gives back the rest. */
  close(): Promise<void>;
}

export function startRedelivery(parts: RedeliveryParts): Redelivery {
  const { store, now, onFailed } = parts;
  const { settlements, recovery, queues } = parts.followUp;
  const closing = new AbortController();
  const tell = createTell({ channels: parts.channels, recovery });
  const workLane = createLaneWork({ ...parts, tell }, closing.signal);
  /** Lanes that are being worked on, and the work. */
  const held = new Map<string, { lane: TargetQueue; work: Promise<void> }>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | null = null;
  let lastLook = Number.NEGATIVE_INFINITY;
  let lookAheadAt = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    await settlements.flush();
    await lookAhead();
    await takeUpLeftBehind({ ...parts, settlements, queues }, 'orphaned');
    while (!closing.signal.aborted && held.size < maxLanes) {
      const claimed = await store.targetQueues.claim(now(), now() + leaseMs, maxLanes - held.size);
      if (claimed.length === 0) break;
      for (const lane of claimed) begin(lane);
      if (held.size >= maxLanes) await Promise.race([...held.values()].map(({ work }) => work));
    }
  }

  async function lookAhead(): Promise<void> {
    const time = now();
    const isSetBack = time < lastLook - clockSkewMs;
    lastLook = time;
    if (!isSetBack && performance.now() < lookAheadAt) return;
    await store.targetQueues.resetTimesAhead(time, { wasSetBack: isSetBack });
    lookAheadAt = performance.now() + lookAheadMs;
  }

  function begin(lane: TargetQueue): void {
    const id = `${lane.ownerId}/${lane.channel}/${lane.target}`;
    const known = held.get(id);
    if (known !== undefined) {
      // Its lease ran out under our hands, and we are the ones who took it again.
      known.lane.leaseUntil = lane.leaseUntil;
      return;
    }
    const work = workLane(lane)
      .catch(onFailed)
      .finally(() => held.delete(id));
    held.set(id, { lane, work });
  }

  function poll(): void {
    if (!closing.signal.aborted) timer = setTimeout(() => void run(), pollMs);
  }

  function run(): Promise<void> {
    clearTimeout(timer);
    looking ??= look()
      .catch(onFailed)
      .finally(() => {
        looking = null;
        poll();
      });
    return looking;
  }

  async function finish(): Promise<void> {
    await looking;
    await Promise.all([...held.values()].map(({ work }) => work));
  }

  poll();

  return {
    async turn() {
      // One that is under way may have looked already.
      await looking;
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
