// The retry queue of one target: deliveries wait in the order of acceptance, and the process that holds the lease drains
// them. Two state machines meet here.
//
//   delivery                                          queue
//
//     first attempt failed, or joined the queue        first delivery waits
//            │                                               │
//            ▼     retry: next attempt by backoff            ▼        nextAt passed, or woken
//         waiting ◄─────────────┐                          idle ─────────────────────────► due
//            │ attempt ─────────┘                            ▲                              │ claim
//            ├── accepted ─────────────────► sent            │ release: target unreachable  ▼
//            ├── gone, rejected, expired ──► dead            └──────────────────────────── held ◄─┐
//            └── dropped by an operator ───► deleted                                        │     │ a delivery
//                                                                   last delivery attempted │     │ joined
//                                                                                           ▼     │
//                                                             deleted ◄── nothing joined ── closing
//
// A lease that expires makes a held queue due again: its process died.
import { setTimeout as delay } from 'node:timers/promises';
import { isTooOld, laterDelays, minAttempts, nextAttemptAt, spread } from '../core/backoff.ts';
import type { ChannelDefinitions, DrainOptions } from '../core/channel.ts';
import { leaseMs, leaseReserveMs } from '../core/lease.ts';
import { holdsQueue, isAccepted, type Outcome, type Retry, rejected, retry } from '../core/outcome.ts';
import type { Recipients } from '../core/recipients.ts';
import {
  type ChannelName,
  type Delivery,
  EncryptionKeyMissing,
  type Store,
  StoreUnavailable,
  type TargetQueue,
} from '../usecases/ports/index.ts';
import { type DeliverStored, findReadable } from './deliver-stored.ts';
import { notBefore, toDead } from './dispatch.ts';

const defaultDrain: DrainOptions = { batch: 50, concurrency: 1, concurrencyWhenBehind: 10 };
const unreadable: Outcome = rejected('refused', 'The notification was deleted, or cannot be decrypted');
/** Delay after a send that was not attempted, because the breaker was open or the channel was at capacity. */
const notAttemptedMs = 12_000;
/** Delay between two attempts to write results. */
const rewriteMs = 1000;

export interface DrainDeps {
  definitions: ChannelDefinitions;
  store: Pick<Store, 'targetQueues' | 'deliveries' | 'notifications' | 'owners'>;
  deliverStored: DeliverStored;
  /** Whether the target has acknowledged the notification, for channels that keep receipts. */
  isReceived: (delivery: Delivery) => Promise<boolean>;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
  onDead: (delivery: Delivery) => void;
}

/** How far one batch got. */
interface BatchResult {
  /** The last notification that was attempted. */
  last?: string;
  /** The target cannot be reached. */
  isStopped: boolean;
  releaseAt?: number;
}

/** Attempts the deliveries of a held queue, in order, and releases it. Ends soon after the signal. */
export type DrainQueue = (queue: TargetQueue) => Promise<void>;

export function createDrainQueue(deps: DrainDeps, closing: AbortSignal): DrainQueue {
  const { store, now } = deps;
  const drainOptions = (channel: ChannelName): DrainOptions =>
    deps.definitions.find(({ name }) => name === channel)?.drain ?? defaultDrain;

  async function drainQueue(queue: TargetQueue): Promise<void> {
    try {
      await drain(queue, drainOptions(queue.channel));
    } catch (error) {
      if (!(error instanceof EncryptionKeyMissing)) throw error;
      // Without the owner's key none of these can ever be sent.
      deps.onFailed(error);
      await store.targetQueues.deadLetter(queue, now());
      await store.targetQueues.release(queue);
    }
  }

  async function drain(queue: TargetQueue, { batch, concurrency, concurrencyWhenBehind }: DrainOptions): Promise<void> {
    let after: string | undefined;
    let isClosing = false;
    let isReached = false;
    // Stays set until the queue ends: with less concurrency it would fall behind again.
    let isBehind = false;
    for (;;) {
      const waiting = await store.deliveries.listWaiting(queue, {
        now: now(),
        limit: batch,
        ...(after !== undefined && { after }),
      });
      isBehind ||= waiting.length === batch;
      const width = isBehind ? concurrencyWhenBehind : concurrency;
      const { last, isStopped, releaseAt } = await attemptInOrder(queue, waiting, { isReached, width });
      isReached ||= last !== undefined;
      after = last ?? after;
      if (isStopped || closing.aborted) {
        await store.targetQueues.release(queue, releaseAt === undefined ? {} : { at: releaseAt });
        return;
      }
      if (waiting.length < batch && last === waiting.at(-1)?.notificationId) {
        if (await store.targetQueues.release(queue, { ifNothingSince: now() })) return;
        // A delivery that joined meanwhile may be older than the last one, if another process accepted it.
        after = undefined;
        isClosing = true;
      }
      const extended = await store.targetQueues.extend(queue, now() + leaseMs, isClosing);
      if (extended === null) return;
      queue.leaseUntil = extended.leaseUntil;
    }
  }

  /** Stops if the target cannot be reached, since later deliveries would fail too, and before the lease expires. */
  async function attemptInOrder(
    queue: TargetQueue,
    waiting: readonly Delivery[],
    { isReached, width }: { isReached: boolean; width: number },
  ): Promise<BatchResult> {
    const recipients = await store.owners.recipientsOf(queue.ownerId);
    const changed: Delivery[] = [];
    let unreached: Retry | null = null;
    let isGone = false;
    try {
      for (let next = 0; next < waiting.length && !isGone && unreached === null; ) {
        if (closing.aborted || now() > queue.leaseUntil - leaseReserveMs) break;
        // The first one shows whether the target can be reached.
        const several = waiting.slice(next, next + (next > 0 || isReached ? width : 1));
        const outcomes = await redeliver(several, recipients);
        next += several.length;
        for (const [index, delivery] of several.entries()) {
          const outcome = retryable(outcomes[index] as Outcome);
          changed.push(afterAttempt(delivery, outcome));
          isGone ||= outcome.kind === 'gone';
          if (holdsQueue(outcome)) unreached ??= outcome;
        }
      }
    } finally {
      // Results are written whatever failed: otherwise the deliveries would be sent a second time.
      await write(changed);
    }
    if (isGone) await store.targetQueues.deadLetter(queue, now());
    if (unreached !== null) return { isStopped: true, ...(await postpone(queue, waiting, unreached)) };
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
        deps.onFailed(error);
        await delay(rewriteMs, undefined, { signal: closing }).catch(() => undefined);
      }
    }
    for (const delivery of changed) if (delivery.state === 'dead') deps.onDead(delivery);
  }

  async function postpone(
    queue: TargetQueue,
    waiting: readonly Delivery[],
    outcome: Retry,
  ): Promise<{ releaseAt?: number }> {
    const time = now();
    const isDue = waiting.some(({ nextAt }) => nextAt !== null && nextAt <= time);
    // Not attempted (channel at capacity, or woken while the breaker is open): does not count as an attempt; retry soon.
    const isUncounted = outcome.reason === 'not_attempted' || (outcome.reason === 'circuit_open' && !isDue);
    if (isUncounted) return { releaseAt: time + spread(notAttemptedMs, deps.random) };
    const delaysMs = laterDelays(deps.random);
    const notBefore = time + (outcome.retryAfterMs ?? 0);
    const dead = await store.targetQueues.postponeDue(queue, time, { delaysMs, minAttempts, notBefore });
    for (const delivery of dead) deps.onDead(delivery);
    return {};
  }

  /** All notifications are read before the first is sent, so that they are sent in order. */
  async function redeliver(several: readonly Delivery[], recipients: Recipients): Promise<Outcome[]> {
    const notifications = await Promise.all(
      several.map(({ ownerId, notificationId }) => findReadable(deps, ownerId, notificationId)),
    );
    // A process may die after the target got a message, and before it has written that.
    const received = await Promise.all(several.map(deps.isReceived));
    return Promise.all(
      several.map((delivery, index) => {
        const notification = notifications[index] ?? null;
        if (received[index]) return { kind: 'sent' as const };
        return notification === null ? unreadable : deps.deliverStored(notification, recipients, delivery);
      }),
    );
  }

  function afterAttempt(delivery: Delivery, outcome: Outcome): Delivery {
    const time = now();
    if (isAccepted(outcome)) {
      return { ...delivery, state: 'sent', attempts: delivery.attempts + 1, nextAt: null, endedAt: time };
    }
    const failed = { ...delivery, error: outcome.error };
    // A delivery that was attempted early, because the channel recovered or another one was due, keeps its next attempt.
    const isDue = delivery.nextAt !== null && delivery.nextAt <= time;
    const attempts = delivery.attempts + (isDue ? 1 : 0);
    const isExpired = isDue && isTooOld({ ...delivery, attempts }, time);
    if (outcome.kind !== 'retry' || isExpired) return toDead({ ...failed, attempts }, time);
    if (outcome.reason === 'not_attempted') return failed;
    if (!isDue) return { ...failed, notBefore: notBefore(outcome, delivery.nextAt ?? time, time) };
    const nextAt = nextAttemptAt({ ...delivery, attempts }, time, deps.random, outcome.retryAfterMs);
    return { ...failed, attempts, nextAt, notBefore: notBefore(outcome, nextAt, time) };
  }

  return drainQueue;
}

/** A channel that has lost its settings may get them back at the next start. */
function retryable(outcome: Outcome): Outcome {
  if (outcome.kind !== 'rejected' || outcome.reason === 'refused') return outcome;
  return retry('not_attempted', outcome.error);
}
