// The first attempt to deliver a notification: to all planned targets except those with a queue, and what is recorded of it.
import type { NormalizedRequest } from '@tocsin/contract';
import type { Channels, ChannelTarget, SendOptions } from '../core/channel.ts';
import { channelsOf, dispatchOf } from '../core/dispatch.ts';
import { holdsQueue, kindOf, type Outcome, rejected, retry } from '../core/outcome.ts';
import type { Plan } from '../core/plan.ts';
import type { Reservation } from '../core/reservation.ts';
import { type DeliveryResult, outcomesOf } from '../core/response.ts';
import type { ChannelName, Dispatch, DispatchResults, Notification, SaveOptions } from '../usecases/ports/index.ts';
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
  /** To be stored together with the notification. */
  toSave: Pick<SaveOptions, 'dispatch' | 'messages' | 'resultsIfQueued'>;
  /** The notification is stored, without the messages at these indexes. Sends the others, and records the results. */
  run(notQueued: readonly number[]): Promise<Attempted>;
  /** Sends what can be sent without the store. */
  runUnstored(): Promise<Attempted>;
  /** The notification was neither stored nor sent. */
  cancel(): void;
}

export type CreateFirstAttempt = (notification: Notification, request: NormalizedRequest, plan: Plan) => FirstAttempt;

export function createFirstAttempts(deps: FirstAttemptDeps): CreateFirstAttempt {
  const { lifecycle } = deps;
  const { writer } = lifecycle;

  /** Channels that store their messages with the notification. A target with a retry queue is not among them. */
  function reserve(notification: Notification, request: NormalizedRequest, plan: Plan): Reservations {
    const reservations = new Map<ChannelName, Reservation>();
    const { ownerId } = notification;
    const isQueued = (channel: ChannelName, { id: target }: ChannelTarget): boolean =>
      !lifecycle.queues.isEmpty && lifecycle.queues.has({ ownerId, channel, target });
    for (const { channel, targets, isTransient } of plan) {
      const { name } = channel;
      if (targets.length === 0 || isTransient || targets.some((target) => isQueued(name, target))) continue;
      const reservation = deps.channels.get(name)?.reserve?.(notification, targets, sendOptionsOf(request));
      if (reservation) reservations.set(name, reservation);
    }
    return reservations;
  }

  return (notification, request, plan) => {
    if (plan.every(({ targets }) => targets.length === 0)) return nothingToDeliver;
    const dispatch = dispatchOf(request, plan);
    const reservations = dispatch === null ? noReservations : reserve(notification, request, plan);
    const isAllReserved = plan.every(({ channel, targets }) => targets.length === 0 || reservations.has(channel.name));
    if (dispatch !== null) writer.track(notification.id);
    const cancelReservations = (): void => {
      for (const reservation of reservations.values()) reservation.cancel();
    };
    return {
      toSave: {
        dispatch,
        messages: [...reservations.values()].flatMap(({ messages }) => messages),
        resultsIfQueued: dispatch !== null && isAllReserved ? resultsOf(dispatch, reservations) : null,
      },
      cancel: () => {
        writer.untrack(notification.id);
        cancelReservations();
      },
      async run(notQueued) {
        const sending = { notification, request, plan, dispatch, isStored: true };
        if (dispatch === null) return send({ ...sending, queued: null, known: nothingKnown });
        const known = commit(reservations, notQueued);
        if (isAllReserved && notQueued.length === 0) {
          // The dispatch was stored with its results.
          writer.untrack(notification.id);
          lifecycle.recovery.note(known);
          return { result: known, isRetryScheduled: false };
        }
        const queued = await lifecycle.joinQueues(notification, withoutChannels(dispatch, reservations));
        return send({ ...sending, queued, known });
      },
      async runUnstored() {
        cancelReservations();
        // A store that fails keeps no queues, so nothing waits.
        const unstored = { notification, request, plan, dispatch: null, isStored: false };
        const attempted = await send({ ...unstored, queued: null, known: nothingKnown });
        if (dispatch !== null) await lifecycle.record(notification, dispatch, withoutRetries(attempted.result));
        return attempted;
      },
    };
  };

  async function send(sending: Sending): Promise<Attempted> {
    const { notification, request, plan, dispatch, queued, known, isStored } = sending;
    const { ownerId } = notification;
    const { recovery, queues } = lifecycle;
    const split = splitPlan(plan, queued, known);
    const isRetried = (channel: ChannelName): boolean =>
      dispatch !== null && split.isStored(channel) && !isReportedToCaller(lifecycle.definitions, dispatch, channel);
    const opening = Promise.withResolvers<unknown>();
    const openQueues = (
      channel: ChannelName,
      targets: readonly ChannelTarget[],
      outcomes: readonly Outcome[],
    ): void => {
      if (!isRetried(channel)) return;
      for (const [index, outcome] of outcomes.entries()) {
        const target = targets[index]?.id;
        if (target !== undefined && holdsQueue(outcome)) queues.open({ ownerId, channel, target }, opening.promise);
      }
    };
    for (const { channel, targets } of plan) openQueues(channel.name, targets, outcomesOf(known, channel.name));
    let ending: Promise<InTime>;
    try {
      ending = deliverWithin(
        deps.channels,
        notification,
        plan.map(({ channel: { name } }) => ({
          ...{ channel: name, targets: split.targets(name) },
          // Sends that cannot be retried are aborted: the response reports their final outcome.
          outlivesResponse: isRetried(name),
        })),
        { ...sendOptionsOf(request), ...(!isStored && { isStored }) },
        {
          ms: deps.responseBudgetMs,
          onOutcomes: (channel, outcomes) => openQueues(channel, split.targets(channel), outcomes),
        },
      );
    } finally {
      queued?.leave();
    }
    const inTime = await ending;
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
  /** Outcomes of channels whose messages were stored with the notification. */
  known: DeliveryResult;
  isStored: boolean;
}

type Reservations = ReadonlyMap<ChannelName, Reservation>;

const noReservations: Reservations = new Map();
const nothingKnown: DeliveryResult = {};

function sendOptionsOf({ mqttQos: qos, customBroker }: NormalizedRequest): SendOptions {
  return { qos, customBroker };
}

function withoutChannels(dispatch: Dispatch, reservations: Reservations): Dispatch {
  if (reservations.size === 0) return dispatch;
  const others = Object.entries(dispatch).filter(([channel]) => !reservations.has(channel));
  return Object.fromEntries(others) as Dispatch;
}

/** The results of a dispatch all of whose messages are stored with the notification. */
function resultsOf(dispatch: Dispatch, reservations: Reservations): DispatchResults {
  return Object.fromEntries(
    channelsOf(dispatch).map((channel) => [channel, (reservations.get(channel)?.outcomes ?? []).map(kindOf)]),
  );
}

/** `notQueued` counts through the messages of all reservations. */
function commit(reservations: Reservations, notQueued: readonly number[]): DeliveryResult {
  const result: Record<string, readonly Outcome[]> = {};
  let first = 0;
  for (const [channel, reservation] of reservations) {
    const end = first + reservation.messages.length;
    const own = notQueued.filter((index) => index >= first && index < end).map((index) => index - first);
    result[channel] = reservation.commit(own);
    first = end;
  }
  return result;
}

const nothingAttempted = Promise.resolve<Attempted>({ result: {}, isRetryScheduled: false });
const nothingToDeliver: FirstAttempt = {
  toSave: { dispatch: null },
  run: () => nothingAttempted,
  runUnstored: () => nothingAttempted,
  cancel: () => undefined,
};
const none: ReadonlySet<string> = new Set();
const stillSending: Outcome = retry('deferred', 'The provider has not responded yet; the attempt continues');

/** Separates the targets that have a queue or a known outcome, and merges their outcomes back into the result. */
function splitPlan(plan: Plan, queued: QueuedTargets | null, known: DeliveryResult) {
  const planned = new Map(plan.map((each) => [each.channel.name, each]));
  const isStored = (channel: ChannelName): boolean => planned.get(channel)?.isTransient !== true;
  const isQueued = (channel: ChannelName, target: string): boolean => {
    if (queued === null || known[channel] !== undefined || !isStored(channel)) return false;
    const key = targetKey(channel, target);
    return queued.joined.has(key) || queued.turnedAway.has(key);
  };
  return {
    isStored,
    targets: (channel: ChannelName) => {
      const targets = known[channel] === undefined ? (planned.get(channel)?.targets ?? []) : [];
      return queued === null ? targets : targets.filter(({ id }) => !isQueued(channel, id));
    },
    merge: (result: InTime['result']): DeliveryResult => {
      const merged: { [channel: string]: readonly Outcome[] } = {};
      for (const {
        channel: { name },
        targets,
      } of plan) {
        const outcomes = known[name] ?? result[name];
        if (outcomes && (queued === null || known[name] !== undefined)) merged[name] = outcomes;
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
