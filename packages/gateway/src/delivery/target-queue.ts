// One lane: everything that waits for one target, tried in the order of acceptance by whoever holds it.
import { setTimeout as delay } from 'node:timers/promises';
import { isTooOld, laterDelays, minTurns, nextTurn, spread } from '../core/backoff.ts';
import { leaseMs, leaseReserveMs } from '../core/lease.ts';
import { holdsQueue, isAccepted, type Outcome, type Retry, retry } from '../core/outcome.ts';
import type { Recipients } from '../core/plan.ts';
import {
  type ChannelName,
  type Delivery,
  EncryptionKeyMissing,
  type Store,
  StoreUnavailable,
  type TargetQueue,
} from '../usecases/ports/index.ts';
import { findReadable, type Tell } from './deliver-stored.ts';
import { giveUp, notBefore } from './dispatch.ts';

/** Deliveries between two writes of how they went: after a crash so many may be told twice. */
const laneBatch: Record<ChannelName, number> = { mqtt: 200, email: 50, push: 50 };
/**
 * Sends to one target that are under way at once. What goes over one MQTT connection arrives in the order in which it
 * was sent; mail and push take several ways.
 */
const atOnce: Record<ChannelName, number> = { mqtt: 50, email: 1, push: 1 };
/**
 * The same for a lane that is behind: one that had a full page waiting. One at a time it would never end under a load
 * that the provider takes easily when it is sent directly.
 */
const atOnceBehind: Record<ChannelName, number> = { mqtt: 50, email: 10, push: 10 };
const unreadable: Outcome = {
  kind: 'rejected',
  reason: 'refused',
  error: 'The notification was deleted, or does not open',
};
/** A provider that was not asked, because its breaker is open or too much waits for it, is tried again after this. */
const notAskedMs = 12_000;
/** Between two tries to write down how deliveries went. */
const writeAgainMs = 1000;

export interface LaneParts {
  store: Pick<Store, 'targetQueues' | 'deliveries' | 'notifications' | 'owners' | 'mqttQueues'>;
  tell: Tell;
  /** The broker is the embedded one, which keeps a receipt of what a device acknowledged. */
  keepsReceipts: boolean;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
  onGivenUp: (delivery: Delivery) => void;
}

/** How far one look at a lane got. */
interface LaneTurn {
  /** The last one that was tried. */
  last?: string;
  /** The target cannot be reached. */
  isStopped: boolean;
  releaseAt?: number;
}

/** Works through a lane that is held, once, as far as it goes, and gives it back. Ends soon after the signal. */
export type WorkLane = (lane: TargetQueue) => Promise<void>;

export function createLaneWork(parts: LaneParts, closing: AbortSignal): WorkLane {
  const { store, now } = parts;

  async function workLane(lane: TargetQueue): Promise<void> {
    try {
      await goThrough(lane);
    } catch (error) {
      if (!(error instanceof EncryptionKeyMissing)) throw error;
      // Without the owner's key nothing of this can ever be sent.
      parts.onFailed(error);
      await store.targetQueues.deadLetter(lane, now());
      await store.targetQueues.release(lane);
    }
  }

  /** Once through the lane, as far as it goes. */
  async function goThrough(lane: TargetQueue): Promise<void> {
    let after: string | undefined;
    let isClosing = false;
    let isReached = false;
    // Until the lane ends: if it went back to one at a time, it would fall behind again.
    let isBehind = false;
    for (;;) {
      const waiting = await store.deliveries.listWaiting(lane, {
        now: now(),
        limit: laneBatch[lane.channel],
        ...(after !== undefined && { after }),
      });
      isBehind ||= waiting.length === laneBatch[lane.channel];
      const width = (isBehind ? atOnceBehind : atOnce)[lane.channel];
      const { last, isStopped, releaseAt } = await tryInOrder(lane, waiting, { isReached, width });
      isReached ||= last !== undefined;
      after = last ?? after;
      if (isStopped || closing.aborted) {
        await store.targetQueues.release(lane, releaseAt === undefined ? {} : { at: releaseAt });
        return;
      }
      if (waiting.length < laneBatch[lane.channel] && last === waiting.at(-1)?.notificationId) {
        if (await store.targetQueues.release(lane, { ifNothingSince: now() })) return;
        // What joined meanwhile may be older than the last one, if another process accepted it.
        after = undefined;
        isClosing = true;
      }
      const extended = await store.targetQueues.extend(lane, now() + leaseMs, isClosing);
      if (extended === null) return;
      lane.leaseUntil = extended.leaseUntil;
    }
  }

  /** Stops where the target cannot be reached, since those behind have to wait too; and before the lease runs out. */
  async function tryInOrder(
    lane: TargetQueue,
    waiting: readonly Delivery[],
    { isReached, width }: { isReached: boolean; width: number },
  ): Promise<LaneTurn> {
    const recipients = await store.owners.recipientsOf(lane.ownerId);
    const changed: Delivery[] = [];
    let unreached: Retry | null = null;
    let isGone = false;
    try {
      for (let next = 0; next < waiting.length && !isGone && unreached === null; ) {
        if (closing.aborted || now() > lane.leaseUntil - leaseReserveMs) break;
        // The first shows whether the target can be reached.
        const several = waiting.slice(next, next + (next > 0 || isReached ? width : 1));
        const outcomes = await tellAgain(several, recipients);
        next += several.length;
        for (const [index, delivery] of several.entries()) {
          const outcome = putOff(outcomes[index] as Outcome);
          changed.push(afterTurn(delivery, outcome));
          isGone ||= outcome.kind === 'gone';
          if (holdsQueue(outcome)) unreached ??= outcome;
        }
      }
    } finally {
      // Whatever went wrong, what was sent is written down: otherwise it would be sent again.
      await write(changed);
    }
    if (isGone) await store.targetQueues.deadLetter(lane, now());
    if (unreached !== null) return { isStopped: true, ...(await postpone(lane, waiting, unreached)) };
    const last = changed.at(-1)?.notificationId;
    return { isStopped: isGone, ...(last !== undefined && { last }) };
  }

  async function write(changed: readonly Delivery[]): Promise<void> {
    for (;;) {
      try {
        await store.deliveries.update(changed);
        break;
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || closing.aborted) throw error;
        parts.onFailed(error);
        await delay(writeAgainMs, undefined, { signal: closing }).catch(() => undefined);
      }
    }
    for (const delivery of changed) if (delivery.state === 'dead') parts.onGivenUp(delivery);
  }

  async function postpone(
    lane: TargetQueue,
    waiting: readonly Delivery[],
    outcome: Retry,
  ): Promise<{ releaseAt?: number }> {
    const time = now();
    const isDue = waiting.some(({ nextAt }) => nextAt !== null && nextAt <= time);
    // Hastened, or too much is under way, but the provider was not asked: that was nobody's turn, and the next is soon.
    const isNoTurn = outcome.reason === 'not_attempted' || (outcome.reason === 'circuit_open' && !isDue);
    if (isNoTurn) {
      return { releaseAt: time + spread(notAskedMs, parts.random) };
    }
    const delaysMs = laterDelays(parts.random);
    const notBefore = time + (outcome.retryAfterMs ?? 0);
    const givenUp = await store.targetQueues.postponeDue(lane, time, { delaysMs, minTurns, notBefore });
    for (const delivery of givenUp) parts.onGivenUp(delivery);
    return {};
  }

  /** All are read before the first is sent, so that they are sent in their order. */
  async function tellAgain(several: readonly Delivery[], recipients: Recipients): Promise<Outcome[]> {
    const notifications = await Promise.all(
      several.map(({ ownerId, notificationId }) => findReadable(parts, ownerId, notificationId)),
    );
    const received = await Promise.all(several.map(isReceived));
    return Promise.all(
      several.map((delivery, index) => {
        const notification = notifications[index] ?? null;
        if (received[index]) return { kind: 'sent' as const };
        return notification === null ? unreadable : parts.tell(notification, recipients, delivery);
      }),
    );
  }

  /** A process may die after it has put a message into a device's queue, and before it has written that down. */
  async function isReceived({ ownerId, notificationId, channel, target }: Delivery): Promise<boolean> {
    if (channel !== 'mqtt' || !parts.keepsReceipts) return false;
    const progress = await store.mqttQueues.findProgress(ownerId, notificationId, [target]);
    return progress.get(target)?.state === 'delivered';
  }

  function afterTurn(delivery: Delivery, outcome: Outcome): Delivery {
    const time = now();
    if (isAccepted(outcome)) {
      return { ...delivery, state: 'sent', attempts: delivery.attempts + 1, nextAt: null, endedAt: time };
    }
    const told = { ...delivery, error: outcome.error };
    // One that was tried before its time, because the channel came back or another was due, keeps its turn.
    const isDue = delivery.nextAt !== null && delivery.nextAt <= time;
    const attempts = delivery.attempts + (isDue ? 1 : 0);
    const isOver = isDue && isTooOld({ ...delivery, attempts }, time);
    if (outcome.kind !== 'retry' || isOver) return giveUp({ ...told, attempts }, time);
    if (outcome.reason === 'not_attempted') return told;
    if (!isDue) return { ...told, notBefore: notBefore(outcome, delivery.nextAt ?? time, time) };
    const nextAt = nextTurn({ ...delivery, attempts }, time, parts.random, outcome.retryAfterMs);
    return { ...told, attempts, nextAt, notBefore: notBefore(outcome, nextAt, time) };
  }

  return workLane;
}

/** A channel that has lost its provider's settings may get them back with the next start. */
function putOff(outcome: Outcome): Outcome {
  if (outcome.kind !== 'rejected' || outcome.reason === 'refused') return outcome;
  return retry('not_attempted', outcome.error);
}
