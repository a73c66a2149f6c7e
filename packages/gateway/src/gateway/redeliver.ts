// What a first attempt could not deliver is tried again here, and what a crash cut off between storing and sending is
// taken up. Any number of processes may do this at once: dispatches and lanes are held by lease.
import { setTimeout as delay } from 'node:timers/promises';
import type { NotSent, Outcome } from '../core/answer.ts';
import { laterDelays, nextTurn, spread } from '../core/backoff.ts';
import type { Recipients } from '../core/plan.ts';
import { leaseMs } from './accept.ts';
import { deliver, type Targets } from './deliver.ts';
import { giveUp, notBefore, resolveTarget } from './dispatch.ts';
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
  StoreUnavailable,
} from './ports.ts';

const pollMs = 1000;
/** Lanes worked on at once. */
const maxLanes = 32;
const dispatchBatch = 50;
/** Deliveries of one lane between two writes of how they went: after a crash so many may be told twice. */
const laneBatch = 50;
/** What is left of a lease must do for one more send, however slow; otherwise it is extended first. */
const leaseReserveMs = 15_000;
/** A provider that was not asked, because its breaker is open or too much waits for it, is tried again after this. */
const notAskedMs = 12_000;
/** Between two tries to write down how deliveries went. */
const writeAgainMs = 1000;

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
  /** The target cannot be reached. */
  isStopped: boolean;
  releaseAt?: number;
}

export function startRedelivery(parts: RedeliveryParts): Redelivery {
  const { store, now } = parts;
  const { settle, settlements, recovery } = parts.followUp;
  /** Lanes that are being worked on, and the work. */
  const held = new Map<string, { lane: Lane; work: Promise<void> }>();
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | null = null;
  let recovering: Promise<void> | null = null;

  async function look(): Promise<void> {
    await settlements.flush();
    recovering ??= recoverDispatches()
      .catch(parts.onFailed)
      .finally(() => {
        recovering = null;
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
      .catch(parts.onFailed)
      .finally(() => held.delete(id));
    held.set(id, { lane, work });
  }

  function poll(): void {
    if (!closing.signal.aborted) timer = setTimeout(() => void run(), pollMs);
  }

  function run(): Promise<void> {
    clearTimeout(timer);
    looking ??= look()
      .catch(parts.onFailed)
      .finally(() => {
        looking = null;
        poll();
      });
    return looking;
  }

  /** Owner by owner side by side, but each owner's in the order of acceptance. */
  async function recoverDispatches(): Promise<void> {
    const leaseUntil = now() + leaseMs;
    const claimed = await store.claimDispatches(now(), leaseUntil, dispatchBatch);
    // Clocks may jump: what this process is still busy with was not left by anybody.
    const left = claimed.filter(({ notificationId }) => !settlements.isOpen(notificationId));
    await Promise.all(
      [...Map.groupBy(left, ({ ownerId }) => ownerId).values()].map(async (ofOwner) => {
        for (const { ownerId, notificationId, dispatch } of ofOwner) {
          // What is not begun in time is claimed again when its lease has passed.
          if (closing.signal.aborted || now() > leaseUntil - leaseReserveMs) return;
          await recover(ownerId, notificationId, dispatch).catch(parts.onFailed);
        }
      }),
    );
  }

  async function recover(ownerId: string, notificationId: string, dispatch: Dispatch): Promise<void> {
    settlements.expect(notificationId);
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
  async function goThrough(lane: Lane): Promise<void> {
    let after: string | undefined;
    for (;;) {
      const waiting = await store.listWaiting(lane, {
        now: now(),
        limit: laneBatch,
        ...(after !== undefined && { after }),
      });
      const { last, isStopped, releaseAt } = await tryInOrder(lane, waiting);
      after = last ?? after;
      const isEnd = waiting.length < laneBatch && last === waiting.at(-1)?.notificationId;
      if (isStopped || isEnd || closing.signal.aborted) return store.releaseLane(lane, releaseAt);
      const extended = await store.extendLane(lane, now() + leaseMs);
      if (extended === null) return;
      lane.leaseUntil = extended.leaseUntil;
    }
  }

  /** Stops where the target cannot be reached, since those behind have to wait too; and before the lease runs out. */
  async function tryInOrder(lane: Lane, waiting: readonly Delivery[]): Promise<LaneTurn> {
    const recipients = await store.recipientsOf(lane.ownerId);
    const changed: Delivery[] = [];
    let unreached: NotSent | null = null;
    let isGone = false;
    try {
      for (const delivery of waiting) {
        if (closing.signal.aborted || now() > lane.leaseUntil - leaseReserveMs) break;
        const outcome = putOff(await tellAgain(delivery, recipients));
        changed.push(afterTurn(delivery, outcome));
        isGone = outcome.kind === 'gone';
        if (isGone) break;
        if (outcome.kind === 'retry' && (outcome.isUnreachable || outcome.wasAsked === false)) {
          unreached = outcome;
          break;
        }
      }
    } finally {
      // Whatever went wrong, what was sent is written down: otherwise it would be sent again.
      await write(changed);
    }
    if (isGone) await store.endLane(lane, now());
    if (unreached !== null) return { isStopped: true, ...(await postpone(lane, waiting, unreached)) };
    const last = changed.at(-1)?.notificationId;
    return { isStopped: isGone, ...(last !== undefined && { last }) };
  }

  async function write(changed: readonly Delivery[]): Promise<void> {
    for (;;) {
      try {
        await store.updateDeliveries(changed);
        break;
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || closing.signal.aborted) throw error;
        parts.onFailed(error);
        await delay(writeAgainMs, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
    for (const delivery of changed) if (delivery.state === 'dead') parts.onGivenUp(delivery);
  }

  async function postpone(lane: Lane, waiting: readonly Delivery[], outcome: NotSent): Promise<{ releaseAt?: number }> {
    const time = now();
    const isDue = waiting.some(({ nextAt }) => nextAt !== null && nextAt <= time);
    // Hastened, or too much is under way, but the provider was not asked: that was nobody's turn, and the next is soon.
    if (outcome.wasAsked === false && !(isDue && outcome.isUnreachable)) {
      return { releaseAt: time + spread(notAskedMs, parts.random) };
    }
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
    const wasNotAsked = outcome.wasAsked === false && !outcome.isUnreachable;
    if (!isDue || wasNotAsked) return told;
    const nextAt = nextTurn({ ...delivery, attempts }, time, parts.random, outcome.retryAfterMs);
    return { ...told, attempts, nextAt, notBefore: notBefore(outcome, nextAt, time) };
  }

  poll();

  return {
    async turn() {
      // One that is under way may have looked already.
      await looking;
      await run();
      await recovering;
      await Promise.all([...held.values()].map(({ work }) => work));
    },
    async close() {
      closing.abort();
      clearTimeout(timer);
      await looking;
      await recovering;
      await Promise.all([...held.values()].map(({ work }) => work));
    },
  };
}

/** A channel that has lost its provider's settings may get them back with the next start. */
function putOff(outcome: Outcome): Outcome {
  return outcome.kind === 'rejected' && outcome.wasAsked === false ? { ...outcome, kind: 'retry' } : outcome;
}
