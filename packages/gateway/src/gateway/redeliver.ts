// What a first attempt could not deliver is tried again here, and what a crash cut off between storing and sending is
// taken up. Any number of processes may do this at once: dispatches and lanes are held by lease.
import type { NotSent, Outcome } from '../core/answer.ts';
import { laterDelays, nextTurn, spread } from '../core/backoff.ts';
import type { Recipients } from '../core/plan.ts';
import { leaseMs } from './accept.ts';
import { deliver, type Targets } from './deliver.ts';
import { giveUp, resolveTarget } from './dispatch.ts';
import type { FollowUp } from './follow-up.ts';
import type { ChannelName, Channels, Delivery, Dispatch, Lane, Notification, Store } from './ports.ts';

const pollMs = 1000;
/** Lanes worked on at once. */
const maxLanes = 32;
const dispatchBatch = 200;
/** Deliveries of one lane between two writes of how they went: after a crash so many may be told twice. */
const laneBatch = 50;
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
    const claimed = await store.claimDispatches(now(), now() + leaseMs, dispatchBatch);
    const byOwner = Map.groupBy(claimed, ({ ownerId }) => ownerId);
    await Promise.all(
      [...byOwner.values()].map(async (ofOwner) => {
        for (const { ownerId, notificationId, dispatch } of ofOwner) {
          if (!isClosed) await recover(ownerId, notificationId, dispatch).catch(parts.onFailed);
        }
      }),
    );
  }

  async function recover(ownerId: string, notificationId: string, dispatch: Dispatch): Promise<void> {
    const notification = await store.findNotification(ownerId, notificationId);
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
    let held: Lane | null = lane;
    let releaseAt: number | undefined;
    while (held !== null) {
      const waiting = await store.listWaiting(held, laneBatch);
      const stop = await tryInOrder(held, waiting);
      releaseAt = stop?.releaseAt;
      if (stop !== null || waiting.length < laneBatch || isClosed) break;
      held = await store.extendLane(held, now() + leaseMs);
    }
    if (held !== null) await store.releaseLane(held, releaseAt);
  }

  /** Says where it stopped: when the target cannot be reached, those behind have to wait too. */
  async function tryInOrder(lane: Lane, waiting: readonly Delivery[]): Promise<{ releaseAt?: number } | null> {
    const recipients = await store.recipientsOf(lane.ownerId);
    const changed: Delivery[] = [];
    const write = async (): Promise<void> => {
      await store.updateDeliveries(changed);
      for (const delivery of changed) if (delivery.state === 'dead') parts.onGivenUp(delivery);
    };
    for (const delivery of waiting) {
      // What is left waits for whoever holds the lane next.
      if (isClosed) break;
      const outcome = await tellAgain(delivery, recipients);
      changed.push(afterTurn(delivery, outcome));
      if (outcome.kind === 'gone') {
        await write();
        await store.endLane(lane, now());
        return {};
      }
      if (outcome.kind === 'retry' && (outcome.isUnreachable || outcome.wasAsked === false)) {
        await write();
        return stopped(lane, waiting, outcome);
      }
    }
    await write();
    return null;
  }

  async function stopped(lane: Lane, waiting: readonly Delivery[], outcome: NotSent): Promise<{ releaseAt?: number }> {
    const time = now();
    const isDue = waiting.some(({ nextAt }) => nextAt !== null && nextAt <= time);
    // Hastened, but the provider is not asked yet: that was nobody's turn, and the next try is soon.
    if (!isDue && outcome.wasAsked === false) return { releaseAt: time + spread(breakerMs, parts.random) };
    const delaysMs = laterDelays(parts.random);
    await store.postponeDue(lane, time, { delaysMs, notBefore: time + (outcome.retryAfterMs ?? 0) });
    return {};
  }

  async function tellAgain(delivery: Delivery, recipients: Recipients): Promise<Outcome> {
    const notification = await store.findNotification(delivery.ownerId, delivery.notificationId);
    if (notification === null) return { kind: 'rejected', error: 'The notification was deleted' };
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
