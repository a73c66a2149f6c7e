// What follows from the outcomes of a first attempt: deliveries that wait for a retry, and dead ones.
import { keepTryingMs, nextAttemptAt } from '../core/backoff.ts';
import type { ChannelDefinitions } from '../core/channel.ts';
import { channelsOf, type Dispatch, targetIdsOf } from '../core/dispatch.ts';
import { leaseMs } from '../core/lease.ts';
import { holdsQueue, isAccepted, kindOf, type NotSent, type Outcome, type Retry, retry } from '../core/outcome.ts';
import { type DeliveryResult, outcomesOf } from '../core/response.ts';
import type {
  ChannelName,
  Delivery,
  DispatchToSettle,
  Notification,
  TargetQueueName,
} from '../usecases/ports/index.ts';

/** Names one target of a dispatch, for sets. */
export function targetKey(channel: ChannelName, target: string): string {
  return `${channel}/${target}`;
}

/** The queues that a dispatch could join: one for each of its targets. */
export function queuesOf(ownerId: string, dispatch: Dispatch): TargetQueueName[] {
  return channelsOf(dispatch).flatMap((channel) =>
    targetIdsOf(dispatch, channel).map((target) => ({ ownerId, channel, target })),
  );
}

/** The caller hears of failures on this channel, and they are not retried. */
export function isReportedToCaller(
  definitions: ChannelDefinitions,
  { isStrict }: Pick<Dispatch, 'isStrict'>,
  channel: ChannelName,
): boolean {
  return isStrict && definitions.some(({ name, reportsStrictly }) => name === channel && reportsStrictly === true);
}

export type Settlement = Pick<DispatchToSettle, 'results' | 'failed' | 'sending'>;

/** What is known about targets beside their outcomes. */
export interface TargetStates {
  /** Targets whose delivery already waits behind earlier notifications, by `targetKey`. */
  joined?: ReadonlySet<string>;
  /** Channels that are still sending. */
  late?: ReadonlySet<ChannelName>;
}

export interface SettlementDeps {
  definitions: ChannelDefinitions;
  now: () => number;
  random: () => number;
  /** How many more deliveries of an owner may wait for a retry. */
  remainingRetries: (ownerId: string) => number;
}

/** `result`: outcomes of a first attempt, one per target of the dispatch, in its order. */
export function settlementOf(
  notification: Notification,
  dispatch: Dispatch,
  result: DeliveryResult,
  deps: SettlementDeps,
  { joined, late }: TargetStates = {},
): Settlement {
  const results: Record<string, ReturnType<typeof kindOf>[]> = {};
  const failed: Delivery[] = [];
  const sending: Delivery[] = [];
  const leaseUntil = deps.now() + leaseMs;
  let waiting = 0;

  const addFailed = (channel: ChannelName, target: string, outcome: Outcome): void => {
    if (joined?.has(targetKey(channel, target))) return;
    const delivery = failedDelivery(notification, { channel, target, qos: dispatch.qos }, outcome, deps);
    if (delivery === null) return;
    if (late?.has(channel)) {
      sending.push({ ...delivery, nextAt: leaseUntil, notBefore: delivery.createdAt });
      return;
    }
    const isReported = isReportedToCaller(deps.definitions, dispatch, channel);
    if (delivery.state === 'waiting' && (isReported || deps.remainingRetries(notification.ownerId) <= waiting)) {
      const why = isReported ? 'reported to the caller' : 'too many deliveries of this owner wait already';
      failed.push(toDead({ ...delivery, error: `${delivery.error} (not retried: ${why})` }, delivery.createdAt));
      return;
    }
    if (delivery.state === 'waiting') waiting += 1;
    failed.push(delivery);
  };

  for (const channel of channelsOf(dispatch)) {
    const outcomes = outcomesOf(result, channel);
    const targets = targetIdsOf(dispatch, channel);
    results[channel] = outcomes.slice(0, targets.length).map(kindOf);
    for (const [index, target] of targets.entries()) addFailed(channel, target, outcomes[index] as Outcome);
  }
  return { results, failed, ...(sending.length > 0 && { sending: { deliveries: sending, leaseUntil } }) };
}

/** The delivery of a notification that joins a queue. */
export function joiningDelivery(
  notification: Notification,
  to: Pick<Delivery, 'channel' | 'target' | 'qos'>,
  deps: Pick<SettlementDeps, 'now' | 'random'>,
): Delivery {
  return failedDelivery(notification, to, behindEarlier, deps) as Delivery;
}

export const behindEarlier: Retry = retry('not_attempted', 'Earlier notifications to this target wait to be delivered');

/** The delivery after a send that ended after the response. */
export function afterLateSend(
  delivery: Delivery,
  outcome: Outcome,
  { now, random }: Pick<SettlementDeps, 'now' | 'random'>,
): Delivery {
  const time = now();
  if (isAccepted(outcome)) return { ...delivery, state: 'sent', nextAt: null, endedAt: time };
  const failed = { ...delivery, error: outcome.error };
  if (outcome.kind !== 'retry') return toDead(failed, time);
  const nextAt = nextAttemptAt(delivery, time, random, outcome.retryAfterMs);
  return { ...failed, nextAt, notBefore: notBefore(outcome, nextAt, time) };
}

/** The dispatch of a process that died, as deliveries that are due now. */
export function orphanedDeliveries(
  definitions: ChannelDefinitions,
  { ownerId, notificationId, dispatch }: { ownerId: string; notificationId: string; dispatch: Dispatch },
  now: number,
): Delivery[] {
  return queuesOf(ownerId, dispatch).map(({ channel, target }) => ({
    ...{ ownerId, notificationId, channel, target, qos: dispatch.qos },
    ...{ state: 'waiting', attempts: 0, createdAt: now, nextAt: now, notBefore: now, endedAt: null },
    // The caller got no response, so one attempt is due; a failure is not retried.
    expiresAt: isReportedToCaller(definitions, dispatch, channel) ? now : now + keepTryingMs,
    error: 'The service was interrupted before this was sent',
  }));
}

/** Dead-letters a delivery. */
export function toDead(delivery: Delivery, now: number): Delivery {
  return { ...delivery, state: 'dead', nextAt: null, endedAt: now };
}

function failedDelivery(
  { id, ownerId }: Notification,
  { channel, target, qos }: Pick<Delivery, 'channel' | 'target' | 'qos'>,
  outcome: Outcome,
  { now, random }: Pick<SettlementDeps, 'now' | 'random'>,
): Delivery | null {
  if (isAccepted(outcome)) return null;
  // Nothing was attempted and nothing can be, as without a configured provider: not worth a row per notification.
  if (outcome.kind === 'rejected' && outcome.reason !== 'refused') return null;
  const createdAt = now();
  const expiresAt = createdAt + keepTryingMs;
  const nextAt = nextAttemptAt({ attempts: 0, expiresAt }, createdAt, random, retryAfterOf(outcome));
  const delivery: Delivery = {
    ownerId,
    notificationId: id,
    channel,
    target,
    state: 'waiting',
    attempts: 0,
    qos,
    createdAt,
    nextAt,
    notBefore: notBefore(outcome, nextAt, createdAt),
    expiresAt,
    endedAt: null,
    error: outcome.error,
  };
  return outcome.kind === 'retry' ? delivery : toDead(delivery, createdAt);
}

/** A message that was deferred is not sent before its scheduled time, even if the channel recovers earlier. */
export function notBefore(outcome: NotSent, nextAt: number, now: number): number {
  return holdsQueue(outcome) ? now + (outcome.retryAfterMs ?? 0) : nextAt;
}

function retryAfterOf(outcome: NotSent): number | undefined {
  return outcome.kind === 'retry' ? outcome.retryAfterMs : undefined;
}
