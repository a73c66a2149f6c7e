// What is kept of a plan while it is being carried out, and what follows from how it went.
import type { NormalizedRequest } from '@tocsin/contract';
import { keepTryingMs, nextTurn } from '../core/backoff.ts';
import { leaseMs } from '../core/lease.ts';
import { holdsQueue, isAccepted, kindOf, type NotSent, type Outcome, type OutcomeKind } from '../core/outcome.ts';
import { isPublishable, type Plan, type Recipients } from '../core/plan.ts';
import type { DeliveryResult } from '../core/response.ts';
import type {
  ChannelName,
  Delivery,
  Dispatch,
  DispatchToSettle,
  Notification,
  TargetQueueName,
} from '../usecases/ports/index.ts';
import type { Targets } from './deliver.ts';

/** null when there is nobody to tell. A broker that the caller brought is told once: its credentials are kept nowhere. */
export function dispatchOf(request: NormalizedRequest, { push, email, mqtt }: Plan): Dispatch | null {
  const dispatch: Dispatch = {
    qos: request.mqttQos,
    isStrict: request.strictDelivery,
    push: push.targets.map(({ id }) => id),
    email: email.targets.length > 0,
    mqtt: request.customBroker === null ? mqtt.targets.flatMap((to) => ('deviceId' in to ? [to.deviceId] : [])) : [],
  };
  return dispatch.push.length + dispatch.mqtt.length === 0 && !dispatch.email ? null : dispatch;
}

/** One target of a dispatch, by name: for sets. */
export function targetName(channel: ChannelName, target: string): string {
  return `${channel}/${target}`;
}

/** The queues that a dispatch would join: one for each of its targets. */
export function queuesOf(ownerId: string, dispatch: Dispatch): TargetQueueName[] {
  return [
    ...dispatch.push.map((target) => ({ ownerId, channel: 'push' as const, target })),
    ...(dispatch.email ? [{ ownerId, channel: 'email' as const, target: '' }] : []),
    ...dispatch.mqtt.map((target) => ({ ownerId, channel: 'mqtt' as const, target })),
  ];
}

export type Settlement = Pick<DispatchToSettle, 'results' | 'failed' | 'sending'>;

/** What is known of targets beside their outcomes. */
export interface Standing {
  /** Wait behind earlier notifications already, by `targetName`. */
  joined?: ReadonlySet<string>;
  /** Channels whose sends go on. */
  late?: ReadonlySet<ChannelName>;
}

export interface SettleParts {
  now: () => number;
  random: () => number;
  /** How many more of an owner's deliveries may wait. */
  roomFor: (ownerId: string) => number;
}

/** Outcomes of a first attempt, one per target of the dispatch, in its order. */
export function settlementOf(
  notification: Notification,
  dispatch: Dispatch,
  { push, email, mqtt }: DeliveryResult,
  parts: SettleParts,
  { joined, late }: Standing = {},
): Settlement {
  const failed: Delivery[] = [];
  const sending: Delivery[] = [];
  const leaseUntil = parts.now() + leaseMs;
  const fail = (channel: ChannelName, target: string, outcome: Outcome): void => {
    if (joined?.has(targetName(channel, target))) return;
    const delivery = failedDelivery(notification, { channel, target, qos: dispatch.qos }, outcome, parts);
    if (delivery === null) return;
    if (late?.has(channel)) {
      sending.push({ ...delivery, nextAt: leaseUntil, notBefore: delivery.createdAt });
      return;
    }
    const isCallers = channel === 'mqtt' && dispatch.isStrict;
    const waiting = failed.filter(({ state }) => state === 'waiting').length;
    if (delivery.state === 'waiting' && (isCallers || parts.roomFor(notification.ownerId) <= waiting)) {
      const why = isCallers ? 'the caller was told' : 'too much waits for this owner already';
      failed.push(giveUp({ ...delivery, error: `${delivery.error} (not tried again: ${why})` }, delivery.createdAt));
    } else failed.push(delivery);
  };
  for (const [index, id] of dispatch.push.entries()) fail('push', id, push[index] as Outcome);
  if (dispatch.email) fail('email', '', email[0] as Outcome);
  for (const [index, id] of dispatch.mqtt.entries()) fail('mqtt', id, mqtt[index] as Outcome);
  return {
    results: {
      push: kindsOf(push, dispatch.push.length),
      email: kindsOf(email, dispatch.email ? 1 : 0),
      mqtt: kindsOf(mqtt, dispatch.mqtt.length),
    },
    failed,
    ...(sending.length > 0 && { sending: { deliveries: sending, leaseUntil } }),
  };
}

/** What a notification that joins a queue waits as. */
export function joiningDelivery(
  notification: Notification,
  to: Pick<Delivery, 'channel' | 'target' | 'qos'>,
  parts: Pick<SettleParts, 'now' | 'random'>,
): Delivery {
  return failedDelivery(notification, to, behindOthers, parts) as Delivery;
}

export const behindOthers: Outcome & { kind: 'retry' } = {
  kind: 'retry',
  reason: 'not_attempted',
  error: 'Earlier notifications to this target wait to be delivered',
};

/** Of a send that went on after the response was given, once it has ended. */
export function afterLateSend(
  delivery: Delivery,
  outcome: Outcome,
  { now, random }: Pick<SettleParts, 'now' | 'random'>,
): Delivery {
  const time = now();
  if (isAccepted(outcome)) return { ...delivery, state: 'sent', nextAt: null, endedAt: time };
  const failed = { ...delivery, error: outcome.error };
  if (outcome.kind !== 'retry') return giveUp(failed, time);
  const nextAt = nextTurn(delivery, time, random, outcome.retryAfterMs);
  return { ...failed, nextAt, notBefore: notBefore(outcome, nextAt, time) };
}

/** A dispatch whose process died, as deliveries that are due now. */
export function orphanedDeliveries(
  { ownerId, notificationId, dispatch }: { ownerId: string; notificationId: string; dispatch: Dispatch },
  now: number,
): Delivery[] {
  return queuesOf(ownerId, dispatch).map(({ channel, target }) => ({
    ...{ ownerId, notificationId, channel, target, qos: dispatch.qos },
    ...{ state: 'waiting', attempts: 0, createdAt: now, nextAt: now, notBefore: now, endedAt: null },
    // A strict caller was told nothing, and is owed one attempt and no more.
    expiresAt: channel === 'mqtt' && dispatch.isStrict ? now : now + keepTryingMs,
    error: 'The service was interrupted before this was sent',
  }));
}

export function giveUp(delivery: Delivery, now: number): Delivery {
  return { ...delivery, state: 'dead', nextAt: null, endedAt: now };
}

function failedDelivery(
  { id, ownerId }: Notification,
  { channel, target, qos }: Pick<Delivery, 'channel' | 'target' | 'qos'>,
  outcome: Outcome,
  { now, random }: Pick<SettleParts, 'now' | 'random'>,
): Delivery | null {
  if (isAccepted(outcome)) return null;
  // Nobody could have been asked: no provider is set up, and that is no news worth a row for every notification.
  if (outcome.kind === 'rejected' && outcome.reason !== 'refused') return null;
  const createdAt = now();
  const expiresAt = createdAt + keepTryingMs;
  const nextAt = nextTurn({ attempts: 0, expiresAt }, createdAt, random, retryAfterOf(outcome));
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
  return outcome.kind === 'retry' ? delivery : giveUp(delivery, createdAt);
}

/** A provider that could not be reached may be tried any time; one that put off this message means this one. */
export function notBefore(outcome: NotSent, nextAt: number, now: number): number {
  return holdsQueue(outcome) ? now + (outcome.retryAfterMs ?? 0) : nextAt;
}

function retryAfterOf(outcome: NotSent): number | undefined {
  return outcome.kind === 'retry' ? outcome.retryAfterMs : undefined;
}

function kindsOf(outcomes: readonly Outcome[], count: number): OutcomeKind[] {
  return outcomes.slice(0, count).map(kindOf);
}

/** What stands between a kept target and another try: it is no more, or not now. */
export type Unfit = Outcome & { kind: 'retry' | 'gone' };

/** The targets of a kept dispatch as they are today, and what became of those that cannot be told. */
export function resolveTarget(
  recipients: Recipients,
  { channel, target }: Pick<Delivery, 'channel' | 'target'>,
): Targets | Unfit {
  switch (channel) {
    case 'push': {
      const found = recipients.pushTargets.find(({ id }) => id === target);
      return found === undefined ? gone('The push target is no more') : { ...nobody, push: { targets: [found] } };
    }
    case 'email': {
      const address = recipients.email;
      return address === null
        ? gone('The owner has no mail address')
        : { ...nobody, email: { targets: [{ address }] } };
    }
    case 'mqtt': {
      const device = recipients.devices.find(({ id }) => id === target);
      if (device === undefined || device.state === 'inactive') return gone('The device is deleted or inactive');
      if (!isPublishable(device)) return { kind: 'retry', reason: 'unreachable', error: 'The device is paused' };
      return { ...nobody, mqtt: { targets: [{ deviceId: target }] } };
    }
  }
}

const nobody: Targets = { push: { targets: [] }, email: { targets: [] }, mqtt: { targets: [] } };

function gone(error: string): Unfit {
  return { kind: 'gone', error };
}
