// One notification, from the caller's request to the answer: plan → save → deliver → settle → answer.
import type { ChannelReport, NormalizedRequest, StoreReason } from '@tocsin/contract';
import { leaseMs } from '../core/lease.ts';
import { holdsQueue, type Outcome, rejected } from '../core/outcome.ts';
import { type Plan, plan } from '../core/plan.ts';
import { type DeliveryResult, report } from '../core/response.ts';
import { deliverWithin, type InTime } from '../delivery/deliver.ts';
import { behindOthers, dispatchOf, targetName } from '../delivery/dispatch.ts';
import type { FollowUp } from '../delivery/dispatch-lifecycle.ts';
import type { QueuedTargets } from '../delivery/join-queues.ts';
import type { Directory } from './directory.ts';
import {
  type ChannelName,
  type Channels,
  type Dispatch,
  EncryptionKeyMissing,
  type IdempotencyClaim,
  type Notification,
  type NotificationWriter,
  type SaveOptions,
  StoreUnavailable,
} from './ports/index.ts';

export interface AcceptRequest {
  ownerId: string;
  requestId: string;
  request: NormalizedRequest;
  /** Where the caller sent an Idempotency-Key. */
  idempotency: IdempotencyClaim | null;
}

/** `duplicate` where the idempotency key was taken before: nothing was stored or sent. */
export type Accept = (accepting: AcceptRequest) => Promise<Accepted | 'duplicate'>;
export type Accepted = ChannelReport & { id: string };

export interface AcceptParts {
  notifications: NotificationWriter;
  directory: Pick<Directory, 'recipientsOf'>;
  channels: Channels;
  followUp: Omit<FollowUp, 'hasten' | 'close'>;
  /** So long a response waits for the channels, all together. */
  responseBudgetMs: number;
  newId: () => string;
  now: () => number;
  onStoreFailure: (failure: { reason: StoreReason; error: Error; requestId: string }) => void;
}

export function createAccept(parts: AcceptParts): Accept {
  const { followUp } = parts;
  return async ({ ownerId, requestId, request, idempotency }) => {
    const recipients = await parts.directory.recipientsOf(ownerId);
    const now = parts.now();
    const route = plan(request, recipients, now);
    const { title, body, source, category, severity, data } = request;
    const content = { title, body, source, category, severity, data };
    const notification: Notification = { id: parts.newId(), ownerId, createdAt: now, ...content };
    const dispatch = dispatchOf(request, route);
    if (dispatch !== null) followUp.settlements.expect(notification.id);
    const saved = await save(parts, requestId, notification, { dispatch, idempotency, leaseUntil: now + leaseMs });
    if (saved === 'duplicate') {
      followUp.settlements.forget(notification.id);
      return saved;
    }
    const storeReason = saved === 'saved' ? null : saved;
    // A store that fails cannot keep anything in order, so nobody waits then.
    const queued = dispatch === null || storeReason !== null ? null : await followUp.joinQueues(notification, dispatch);
    const { result, isScheduled } = await attempt({
      ...{ notification, request, route, queued, dispatch: storeReason === null ? dispatch : null },
      isStored: storeReason === null,
    });
    if (dispatch !== null && storeReason !== null) await followUp.settle(notification, dispatch, final(result));
    return { id: notification.id, ...report(request, route, storeReason, result, isScheduled) };
  };

  /** The first attempt at all targets but those that have a queue, and what is kept of how it went. */
  async function attempt({ notification, request, route, queued, dispatch, isStored }: FirstAttempt) {
    const { ownerId } = notification;
    const { customBroker } = request;
    const isOurs = customBroker === null;
    const split = splitRoute(route, isOurs, queued);
    const opening = Promise.withResolvers<unknown>();
    let sending: Promise<InTime>;
    try {
      sending = deliverWithin(
        parts.channels,
        notification,
        split.toSend,
        { qos: request.mqttQos, customBroker, ...(!isStored && { isStored }) },
        {
          ms: parts.responseBudgetMs,
          // Where nothing is kept, what has not ended is aborted: the response has the last word.
          goesOn: (channel) => dispatch !== null && (channel !== 'mqtt' || (isOurs && !dispatch.isStrict)),
          onOutcomes: (channel, outcomes) => {
            if (dispatch === null || (channel === 'mqtt' && (!isOurs || dispatch.isStrict))) return;
            for (const [index, outcome] of outcomes.entries()) {
              const target = split.targetsSent(channel)[index];
              if (target !== undefined && holdsQueue(outcome)) {
                followUp.queues.open({ ownerId, channel, target }, opening.promise);
              }
            }
          },
        },
      );
    } finally {
      queued?.leave();
    }
    const inTime = await sending;
    const late = new Set(channelNames.filter((channel) => inTime.result[channel] === null));
    const joined = queued?.joined ?? none;
    const result = split.merge(inTime.result);
    // What becomes of brokers that callers bring says nothing about ours.
    followUp.recovery.note(isOurs ? result : { ...result, mqtt: [] });
    try {
      if (dispatch === null) return { result, isScheduled: false };
      if (late.size === 0 || inTime.late === null) {
        return { result, isScheduled: await followUp.settle(notification, dispatch, result, { joined }) };
      }
      const standing = { joined, late };
      const parking = followUp.park(notification, dispatch, result, standing);
      for (const channel of late) {
        for (const target of split.targetsSent(channel)) followUp.queues.open({ ownerId, channel, target }, parking);
      }
      const parked = await parking;
      followUp.lateSends.follow({ notification, dispatch, standing, parked, end: inTime.late.then(split.merge) });
      // The dispatch is in the store either way: what does not end well is tried again.
      return { result, isScheduled: true };
    } finally {
      opening.resolve(undefined);
    }
  }
}

interface FirstAttempt {
  notification: Notification;
  request: NormalizedRequest;
  route: Plan;
  queued: QueuedTargets | null;
  /** null when nothing is kept: there is nobody to tell, or no store to keep it. */
  dispatch: Dispatch | null;
  isStored: boolean;
}

const channelNames = ['push', 'email', 'mqtt'] as const satisfies ChannelName[];
const none: ReadonlySet<string> = new Set();
const stillSending: Outcome = {
  kind: 'retry',
  reason: 'deferred',
  error: 'The provider has not answered yet; the attempt goes on',
};

/** Leaves out targets that have a queue, and puts what became of them back into the result. */
function splitRoute(route: Plan, isOurs: boolean, queued: QueuedTargets | null) {
  const ids: { [C in ChannelName]: (string | null)[] } = {
    push: route.push.targets.map(({ id }) => id),
    email: route.email.targets.map(() => ''),
    mqtt: route.mqtt.targets.map((to) => (isOurs && 'deviceId' in to ? to.deviceId : null)),
  };
  const isQueued = (channel: ChannelName, target: string | null | undefined): boolean => {
    if (queued === null || target === null || target === undefined) return false;
    const name = targetName(channel, target);
    return queued.joined.has(name) || queued.turnedAway.has(name);
  };
  const toSend = <Target>(channel: ChannelName, targets: readonly Target[]): { targets: readonly Target[] } => ({
    targets: queued === null ? targets : targets.filter((_, index) => !isQueued(channel, ids[channel][index])),
  });
  const merge = (channel: ChannelName, outcomes: readonly Outcome[] | null): readonly Outcome[] => {
    if (queued === null && outcomes !== null) return outcomes;
    let next = 0;
    return ids[channel].map((target) => {
      if (isQueued(channel, target)) return behindOthers;
      return outcomes === null ? stillSending : (outcomes[next++] as Outcome);
    });
  };
  return {
    toSend: {
      push: toSend('push', route.push.targets),
      email: toSend('email', route.email.targets),
      mqtt: toSend('mqtt', route.mqtt.targets),
    },
    targetsSent: (channel: ChannelName): string[] =>
      ids[channel].filter((target) => target !== null && !isQueued(channel, target)) as string[],
    merge: ({ push, email, mqtt }: InTime['result']): DeliveryResult => ({
      push: merge('push', push),
      email: merge('email', email),
      mqtt: merge('mqtt', mqtt),
    }),
  };
}

/** A store that fails does not silence the bells: the caller is told, and the channels still run. */
async function save(
  parts: AcceptParts,
  requestId: string,
  notification: Notification,
  options: SaveOptions,
): Promise<'saved' | 'duplicate' | StoreReason> {
  try {
    return await parts.notifications.save(notification, options);
  } catch (error) {
    if (error instanceof EncryptionKeyMissing || error instanceof StoreUnavailable) {
      const reason = error instanceof StoreUnavailable ? 'store_unavailable' : 'encryption_key_missing';
      parts.onStoreFailure({ reason, error, requestId });
      return reason;
    }
    throw error;
  }
}

/**
 * Nothing is tried again for a notification that is not known to be stored. But a store that was too slow to answer may
 * have it after all, and must not tell everybody once more.
 */
function final({ push, email, mqtt }: DeliveryResult): DeliveryResult {
  const end = (outcomes: DeliveryResult['push']) =>
    outcomes.map((outcome) => (outcome.kind === 'retry' ? rejected('not_retried', outcome.error) : outcome));
  return { push: end(push), email: end(email), mqtt: end(mqtt) };
}
