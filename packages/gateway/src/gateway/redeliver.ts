// What a first attempt could not deliver is tried again here, and what a crash cut off between storing and sending is
// taken up. Any number of processes may do this at once: dispatches and lanes are held by lease.
import type { NotSent, Outcome } from '../core/answer.ts';
import { laterDelays, nextTurn, spread } from '../core/backoff.ts';
import type { Recipients } from '../core/plan.ts';
import { leaseMs } from './accept.ts';
import { deliver, type Targets } from './deliver.ts';
import { giveUp, resolveTarget } from './dispatch.ts';
import type { FollowUp } from './follow-up.ts';
import {
  type ChannelName,
  type Channels,
  type Delivery,
  type Dispatch,
  EncryptionKeyMissing,
  type Lane,
  type Notification,
  SealBroken,
  type Store,
} from './ports.ts';

const pollMs = 1000;
/** Lanes worked on at once. */
const maxLanes = 32;
const dispatchBatch = 100;
/** Deliveries of one lane between two writes of how they went: after a crash so many may be told twice. */
const laneBatch = 50;
/** What is left of a lease must do for one more send, however slow; otherwise it is extended first. */
const leaseReserveMs = 15_000;
/** A breaker that is open lets somebody try again after this. */
const breakerMs = 12_000;

export interface RedeliveryParts {
  store: Pick<
    Store,
    | 'claimDispatches'
    | 'claimLanes'
    | 'extendLane'
    | 'releaseLane'
    | 'postponeDue'
    | 'endLane'
    | 'listWaiting'
    | 'updateDeliveries'
    | 'findNotification'
    | 'recipientsOf'
  >;
  channels: Channels;
  followUp: Pick<FollowUp, 'settle' | 'settlements' | 'recovery'>;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
  onGivenUp: (delivery: Delivery) => void;
}

export interface Redelivery {
  /** Looks now instead of within a second; resolves when all that was due has had its turn. */
  turn(): Promise<void>;
  /** Finishes what is being sent at this moment, and gives back the rest. */
  close(): Promise<void>;
}

/** How far one look at a lane got. */
interface LaneTurn {
  /** The last one that was tried. */
  last?: string;
  isStopped: boolean;
  releaseAt?: number;
}

export function startRedelivery(parts: RedeliveryParts): Redelivery {
  const { store, now } = parts;
  const { settle, settlements, recovery } = parts.followUp;
  const lanes = new Set<Promise<void>>();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;

  async function look(): Promise<void> {
    await settlements.flush();
    await recoverDispatches();
    while (!isClosed && lanes.size < maxLanes) {
      const claimed = await store.claimLanes(now(), now() + leaseMs, maxLanes - lanes.size);
      if (claimed.length === 0) break;
      for (const lane of claimed) begin(lane);
      if (lanes.size >= maxLanes) await Promise.race(lanes);
    }
  }

  function begin(lane: Lane): void {
    const work = workLane(lane)
      .catch(parts.onFailed)
      .finally(() => lanes.delete(work));
    lanes.add(work);
  }

  function poll(): void {
    if (isClosed) return;
    timer = setTimeout(() => void run(), pollMs);
  }

  function run(): Promise<void> {
    clearTimeout(timer);
    running ??= look()
      .catch(parts.onFailed)
      .finally(() => {
        running = null;
        poll();
      });
    return running;
  }

  /** Owner by owner side by side, but each owner's in the order of acceptance. */
  async function recoverDispatches(): Promise<void> {
    const leaseUntil = now() + leaseMs;
    const claimed = await store.claimDispatches(now(), leaseUntil, dispatchBatch);
    const byOwner = Map.groupBy(claimed, ({ ownerId }) => ownerId);
    await Promise.all(
      [...byOwner.values()].map(async (ofOwner) => {
        for (const { ownerId, notificationId, dispatch } of ofOwner) {
          // What is not begun in time is claimed again when its lease has passed.
          if (isClosed || now() > leaseUntil - leaseReserveMs) return;
          await recover(ownerId, notificationId, dispatch).catch(parts.onFailed);
        }
      }),
    );
  }

  async function recover(ownerId: string, notificationId: string, dispatch: Dispatch): Promise<void> {
    const notification = await findReadable(ownerId, notificationId);
    if (notification === null) {
      settlements.later({ ownerId, notificationId, results: { push: [], email: [], mqtt: [] }, failed: [] });
      return;
    }
    const recipients = await store.recipientsOf(ownerId);
    const tell = (channel: ChannelName, target: string): Promise<Outcome> =>
      tellOne(notification, recipients, { channel, target, qos: dispatch.qos });
    const [push, email, mqtt] = await Promise.all([
      Promise.all(dispatch.push.map((id) => tell('push', id))),
      Promise.all(dispatch.email ? [tell('email', '')] : []),
      Promise.all(dispatch.mqtt.map((id) => tell('mqtt', id))),
    ]);
    await settle(notification, dispatch, { push, email, mqtt });
  }

  async function findReadable(ownerId: string, id: string): Promise<Notification | null> {
    try {
      return await store.findNotification(ownerId, id);
    } catch (error) {
      if (!(error instanceof SealBroken || error instanceof EncryptionKeyMissing)) throw error;
      parts.onFailed(error);
      return null;
    }
  }

  async function tellOne(
    notification: Notification,
    recipients: Recipients,
    { channel, target, qos }: Pick<Delivery, 'channel' | 'target' | 'qos'>,
  ): Promise<Outcome> {
    const resolved = resolveTarget(recipients, { channel, target });
    if ('kind' in resolved) return resolved;
    const result = await deliver(parts.channels, notification, resolved satisfies Targets, { qos, customBroker: null });
    recovery.note(result);
    return result[channel][0] as Outcome;
  }

  async function workLane(lane: Lane): Promise<void> {
    try {
      await goThrough(lane);
    } catch (error) {
      if (!(error instanceof EncryptionKeyMissing)) throw error;
      // Without the owner's key nothing of this can ever be sent.
      parts.onFailed(error);
      await store.endLane(lane, now());
      await store.releaseLane(lane);
    }
  }

  /** Once through the lane, as far as it goes. */
  async function goThrough(claimed: Lane): Promise<void> {
    let lane: Lane | null = claimed;
    let after: string | undefined;
    while (lane !== null) {
      const waiting = await store.listWaiting(lane, laneBatch, after);
      const { last, isStopped, releaseAt } = await tryInOrder(lane, waiting);
      after = last ?? after;
      const isEnd = waiting.length < laneBatch && last === waiting.at(-1)?.notificationId;
      if (isStopped || isEnd || isClosed) return store.releaseLane(lane, releaseAt);
      lane = await store.extendLane(lane, now() + leaseMs);
    }
  }

  /** Stops where the target cannot be reached, since those behind have to wait too; and before the lease runs out. */
  async function tryInOrder(lane: Lane, waiting: readonly Delivery[]): Promise<LaneTurn> {
    const recipients = await store.recipientsOf(lane.ownerId);
    const changed: Delivery[] = [];
    const write = async (): Promise<void> => {
      await store.updateDeliveries(changed);
      for (const delivery of changed) if (delivery.state === 'dead') parts.onGivenUp(delivery);
    };
    for (const delivery of waiting) {
      if (isClosed || now() > lane.leaseUntil - leaseReserveMs) break;
      const outcome = await tellAgain(delivery, recipients);
      changed.push(afterTurn(delivery, outcome));
      if (outcome.kind === 'gone') {
        await write();
        await store.endLane(lane, now());
        return { isStopped: true };
      }
      if (outcome.kind === 'retry' && (outcome.isUnreachable || outcome.wasAsked === false)) {
        await write();
        return { isStopped: true, ...(await postpone(lane, waiting, outcome)) };
      }
    }
    await write();
    const last = changed.at(-1)?.notificationId;
    return { isStopped: false, ...(last !== undefined && { last }) };
  }

  async function postpone(lane: Lane, waiting: readonly Delivery[], outcome: NotSent): Promise<{ releaseAt?: number }> {
    const time = now();
    const isDue = waiting.some(({ nextAt }) => nextAt !== null && nextAt <= time);
    // Hastened, but the provider is not asked yet: that was nobody's turn, and the next try is soon.
    if (!isDue && outcome.wasAsked === false) return { releaseAt: time + spread(breakerMs, parts.random) };
    const delaysMs = laterDelays(parts.random);
    await store.postponeDue(lane, time, { delaysMs, notBefore: time + (outcome.retryAfterMs ?? 0) });
    return {};
  }

  async function tellAgain(delivery: Delivery, recipients: Recipients): Promise<Outcome> {
    const notification = await findReadable(delivery.ownerId, delivery.notificationId);
    if (notification === null) return { kind: 'rejected', error: 'The notification was deleted, or does not open' };
    return tellOne(notification, recipients, delivery);
  }

  function afterTurn(delivery: Delivery, outcome: Outcome): Delivery {
    const time = now();
    if (outcome.kind === 'sent') {
      return { ...delivery, state: 'sent', attempts: delivery.attempts + 1, nextAt: null, endedAt: time };
    }
    const told = { ...delivery, error: outcome.error };
    // One that was tried before its time, because the channel came back or another was due, keeps its turn.
    const isDue = delivery.nextAt !== null && delivery.nextAt <= time;
    const attempts = delivery.attempts + (isDue ? 1 : 0);
    if (outcome.kind !== 'retry' || (isDue && time >= delivery.expiresAt)) return giveUp({ ...told, attempts }, time);
    if (!isDue) return told;
    return { ...told, attempts, nextAt: nextTurn({ ...delivery, attempts }, time, parts.random, outcome.retryAfterMs) };
  }

  poll();

  return {
    async turn() {
      // One that is under way may have looked already.
      await running;
      await run();
      await Promise.all(lanes);
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
      await Promise.all(lanes);
    },
  };
}
