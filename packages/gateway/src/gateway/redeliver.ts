// What a first attempt could not deliver is tried again, and what a crash cut off between storing and sending is taken
// up. Any number of processes may do this at once: dispatches and lanes are held by lease.
import type { FollowUp } from './follow-up.ts';
import { createLaneWork, type LaneParts } from './lane.ts';
import { leaseMs } from './lease.ts';
import { type LeftBehindParts, takeUpLeftBehind } from './left-behind.ts';
import type { Channels, Lane, Store } from './ports.ts';
import { createTell } from './tell.ts';

const pollMs = 1000;
/** Lanes worked on at once. */
const maxLanes = 32;

export interface RedeliveryParts extends Omit<LaneParts, 'tell'> {
  store: LaneParts['store'] & LeftBehindParts['store'] & Pick<Store, 'claimLanes'>;
  channels: Channels;
  followUp: Pick<FollowUp, 'settle' | 'settlements' | 'recovery'>;
}

export interface Redelivery {
  /** Looks now instead of within a second; resolves when all that was due has had its turn. */
  turn(): Promise<void>;
  /** Finishes what is being sent at this moment, and gives back the rest. */
  close(): Promise<void>;
}

export function startRedelivery(parts: RedeliveryParts): Redelivery {
  const { store, now, onFailed } = parts;
  const { settle, settlements, recovery } = parts.followUp;
  const closing = new AbortController();
  const tell = createTell({ channels: parts.channels, recovery });
  const workLane = createLaneWork({ ...parts, tell }, closing.signal);
  /** Lanes that are being worked on, and the work. */
  const held = new Map<string, { lane: Lane; work: Promise<void> }>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | null = null;
  let takingUp: Promise<void> | null = null;

  async function look(): Promise<void> {
    await settlements.flush();
    takingUp ??= takeUpLeftBehind({ ...parts, tell, settle, settlements }, closing.signal)
      .catch(onFailed)
      .finally(() => {
        takingUp = null;
      });
    while (!closing.signal.aborted && held.size < maxLanes) {
      const claimed = await store.claimLanes(now(), now() + leaseMs, maxLanes - held.size);
      if (claimed.length === 0) break;
      for (const lane of claimed) begin(lane);
      if (held.size >= maxLanes) await Promise.race([...held.values()].map(({ work }) => work));
    }
  }

  function begin(lane: Lane): void {
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
    await takingUp;
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
