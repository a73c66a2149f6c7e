// The first attempt to deliver a notification: to all planned targets except those with a queue, and what is recorded of it.
import type { NormalizedRequest } from '@tocsin/contract';
import type { Channels } from '../core/channel.ts';
import { dispatchOf } from '../core/dispatch.ts';
import { holdsQueue, type Outcome, rejected, retry } from '../core/outcome.ts';
import type { Plan } from '../core/plan.ts';
import { type DeliveryResult, outcomesOf } from '../core/response.ts';
import type { ChannelName, Dispatch, Notification } from '../usecases/ports/index.ts';
import { deliverWithin, type InTime } from './deliver.ts';
import { behindEarlier, isReportedToCaller, targetKey } from './dispatch.ts';
import type { DispatchLifecycle } from './dispatch-lifecycle.ts';
import type { QueuedTargets } from './join-queues.ts';

export interface FirstAttemptDeps {
  channels: Channels;
  lifecycle: Omit<DispatchLifecycle, 'wake' | 'close'>;
  /** How long a response waits for all channels together. */
  responseBudgetMs: number;
}

export interface Attempted {
  result: DeliveryResult;
  /** Failed deliveries are stored and will be retried. */
  isRetryScheduled: boolean;
}

export interface FirstAttempt {
  /** To be stored together with the notification; null when there is nothing to deliver or nothing to retry. */
  dispatch: Dispatch | null;
  /** Sends, and records the results. */
  run(isStored: boolean): Promise<Attempted>;
  /** The notification was neither stored nor sent. */
  cancel(): void;
}

export type CreateFirstAttempt = (notification: Notification, request: NormalizedRequest, plan: Plan) => FirstAttempt;

export function createFirstAttempts(deps: FirstAttemptDeps): CreateFirstAttempt {
  const { lifecycle } = deps;
  const { writer } = lifecycle;

  return (notification, request, plan) => {
    const dispatch = dispatchOf(request, plan);
    if (dispatch !== null) writer.track(notification.id);
    return {
      dispatch,
      cancel: () => writer.untrack(notification.id),
      async run(isStored) {
        if (plan.every(({ targets }) => targets.length === 0)) return nothingToSend;
        if (dispatch === null) return send({ notification, request, plan, dispatch: null, queued: null, isStored });
        if (isStored) {
          const queued = await lifecycle.joinQueues(notification, dispatch);
          return send({ notification, request, plan, dispatch, queued, isStored });
        }
        // A store that fails keeps no queues, so nothing waits.
        const attempted = await send({ notification, request, plan, dispatch: null, queued: null, isStored });
        await lifecycle.record(notification, dispatch, withoutRetries(attempted.result));
        return attempted;
      },
    };
  };

  async function send({ notification, request, plan, dispatch, queued, isStored }: Sending): Promise<Attempted> {
    const { ownerId } = notification;
    const { recovery, queues } = lifecycle;
    const split = splitPlan(plan, queued);
    const isRetried = (channel: ChannelName): boolean =>
      dispatch !== null && split.isStored(channel) && !isReportedToCaller(lifecycle.definitions, dispatch, channel);
    const opening = Promise.withResolvers<unknown>();
    let sending: Promise<InTime>;
    try {
      sending = deliverWithin(
        deps.channels,
        notification,
        plan.map(({ channel: { name } }) => ({
          ...{ channel: name, targets: split.targets(name) },
          // Sends that cannot be retried are aborted: the response reports their final outcome.
          outlivesResponse: isRetried(name),
        })),
        { qos: request.mqttQos, customBroker: request.customBroker, ...(!isStored && { isStored }) },
        {
          ms: deps.responseBudgetMs,
          onOutcomes: (channel, outcomes) => {
            if (!isRetried(channel)) return;
            for (const [index, outcome] of outcomes.entries()) {
              const target = split.targets(channel)[index]?.id;
              if (target !== undefined && holdsQueue(outcome)) {
                queues.open({ ownerId, channel, target }, opening.promise);
              }
            }
          },
        },
      );
    } finally {
      queued?.leave();
    }
    const inTime = await sending;
    const result = split.merge(inTime.result);
    recovery.note(split.withoutTransient(result));
    try {
      if (dispatch === null) return { result, isRetryScheduled: false };
      const joined = queued?.joined ?? none;
      const late = new Set(Object.keys(inTime.result).filter((channel) => inTime.result[channel] === null));
      if (late.size === 0 || inTime.late === null) {
        return { result, isRetryScheduled: await lifecycle.record(notification, dispatch, result, { joined }) };
      }
      const states = { joined, late };
      const parking = lifecycle.park(notification, dispatch, result, states);
      for (const channel of late) {
        for (const { id: target } of split.targets(channel)) queues.open({ ownerId, channel, target }, parking);
      }
      const parked = await parking;
      lifecycle.lateSends.follow({ notification, dispatch, states, parked, end: inTime.late.then(split.merge) });
      // The dispatch is stored either way: sends that fail later are retried.
      return { result, isRetryScheduled: true };
    } finally {
      opening.resolve(undefined);
    }
  }
}

interface Sending {
  notification: Notification;
  request: NormalizedRequest;
  plan: Plan;
  /** null when nothing is stored that could be retried. */
  dispatch: Dispatch | null;
  queued: QueuedTargets | null;
  isStored: boolean;
}

const nothingToSend: Attempted = { result: {}, isRetryScheduled: false };
const none: ReadonlySet<string> = new Set();
const stillSending: Outcome = retry('deferred', 'The provider has not responded yet; the attempt continues');

/** Separates the targets that have a queue, and merges their outcomes back into the result. */
function splitPlan(plan: Plan, queued: QueuedTargets | null) {
  const planned = new Map(plan.map((each) => [each.channel.name, each]));
  const isStored = (channel: ChannelName): boolean => planned.get(channel)?.isTransient !== true;
  const isQueued = (channel: ChannelName, target: string): boolean => {
    if (queued === null || !isStored(channel)) return false;
    const key = targetKey(channel, target);
    return queued.joined.has(key) || queued.turnedAway.has(key);
  };
  return {
    isStored,
    targets: (channel: ChannelName) => {
      const targets = planned.get(channel)?.targets ?? [];
      return queued === null ? targets : targets.filter(({ id }) => !isQueued(channel, id));
    },
    merge: (result: InTime['result']): DeliveryResult => {
      const merged: { [channel: string]: readonly Outcome[] } = {};
      for (const {
        channel: { name },
        targets,
      } of plan) {
        const outcomes = result[name];
        if (queued === null && outcomes) merged[name] = outcomes;
        else {
          let next = 0;
          merged[name] = targets.map(({ id }) => {
            if (isQueued(name, id)) return behindEarlier;
            return outcomes ? (outcomes[next++] as Outcome) : stillSending;
          });
        }
      }
      return merged;
    },
    /** Connections that requests bring say nothing about the state of our own providers. */
    withoutTransient: (result: DeliveryResult): DeliveryResult =>
      plan.some(({ isTransient }) => isTransient)
        ? Object.fromEntries(Object.entries(result).filter(([channel]) => isStored(channel)))
        : result,
  };
}

/**
 * A notification that may not be stored is not retried. But if the store was only too slow to confirm it, the dispatch is
 * stored, and must not be sent a second time.
 */
function withoutRetries(result: DeliveryResult): DeliveryResult {
  return Object.fromEntries(
    Object.keys(result).map((channel) => [
      channel,
      outcomesOf(result, channel).map((outcome) =>
        outcome.kind === 'retry' ? rejected('not_retried', outcome.error) : outcome,
      ),
    ]),
  );
}
