// A request that is repeated under the same Idempotency-Key gets the first response, even if a crash kept it from being sent.
import type { NormalizedRequest } from '@tocsin/contract';
import type { ChannelDefinitions } from '../core/channel.ts';
import { createDeadline } from '../core/deadline.ts';
import { channelsOf, targetIdsOf } from '../core/dispatch.ts';
import { isLeaseOver } from '../core/lease.ts';
import { type Outcome, type OutcomeKind, rejected, retry } from '../core/outcome.ts';
import { type IsConfigured, takesPart } from '../core/plan.ts';
import { Refusal } from '../core/refusal.ts';
import { outcomesOf, report } from '../core/response.ts';
import { isReportedToCaller } from '../delivery/dispatch.ts';
import type { Accepted } from './accept.ts';
import {
  type Delivery,
  type Dispatch,
  type DispatchResults,
  EncryptionKeyMissing,
  type IdempotencyClaim,
  type IdempotencyRecord,
  type Store,
  type StoredResponse,
  StoreUnavailable,
} from './ports/index.ts';

const rememberMs = 1000;

export interface IdempotencyDeps {
  definitions: ChannelDefinitions;
  isConfigured: IsConfigured;
  store: Pick<Store, 'idempotency' | 'dispatches' | 'deliveries'>;
  now: () => number;
}

/** The first response as it was sent or, if its process died before that, the report it would have contained. */
export type Recalled = { answer: StoredResponse } | { interrupted: Accepted };

export interface Idempotency {
  /** null for the first request under the key. Refuses a different request under it, and one that is still in progress. */
  recall(ownerId: string, claim: IdempotencyClaim, request: NormalizedRequest): Promise<Recalled | null>;
  remember(ownerId: string, claim: IdempotencyClaim, answer: StoredResponse): Promise<void>;
}

export function createIdempotency({ definitions, isConfigured, store, now }: IdempotencyDeps): Idempotency {
  async function recallInterrupted(
    ownerId: string,
    { notificationId, leaseUntil }: IdempotencyRecord,
    request: NormalizedRequest,
  ): Promise<Recalled> {
    if (!isLeaseOver(leaseUntil, now())) throw inProgress();
    const found = await store.dispatches.find(ownerId, notificationId);
    // The process that resumes the orphaned dispatch is about to settle it.
    if (found !== null && found.results === null) throw inProgress();
    const dispatch = found?.dispatch ?? null;
    // A channel that was configured at the time is reported even if it no longer is.
    const channels = definitions.filter(
      (channel) => takesPart(channel, isConfigured) || (dispatch !== null && channel.name in dispatch),
    );
    const results = found?.results && (await withRetries(ownerId, notificationId, found.dispatch, found.results));
    return { interrupted: { id: notificationId, ...interruptedReport(channels, request, dispatch, results ?? {}) } };
  }

  /** Deliveries that the dead process did not send were queued, and may have been sent since. */
  async function withRetries(
    ownerId: string,
    notificationId: string,
    dispatch: Dispatch,
    results: DispatchResults,
  ): Promise<DispatchResults> {
    const channels = channelsOf(dispatch);
    const count = channels.reduce((sum, channel) => sum + targetIdsOf(dispatch, channel).length, 0);
    const deliveries = await store.deliveries.list({ ownerId, notificationId, limit: Math.max(1, count) });
    const stateOf = (channel: string, target: string): Delivery['state'] | undefined =>
      deliveries.find((each) => each.channel === channel && each.target === target)?.state;
    const current = channels.map((channel): [string, OutcomeKind[]] => [
      channel,
      targetIdsOf(dispatch, channel).map((target, index) => {
        const first = results[channel]?.[index] as OutcomeKind;
        const state = stateOf(channel, target);
        if (state === 'sent') return 'sent';
        // A strict caller gets the result of the one attempt, and no response before.
        if (state === 'waiting' && isReportedToCaller(definitions, dispatch, channel)) throw inProgress();
        return state === 'dead' && first === 'retry' ? 'rejected' : first;
      }),
    ]);
    return Object.fromEntries(current);
  }

  return {
    async recall(ownerId, claim, request) {
      const record = await orNull(store.idempotency.find(ownerId, claim.keyDigest, now()));
      if (record === null) return null;
      if (record.fingerprint !== claim.fingerprint) throw new Refusal('idempotency_mismatch');
      return record.answer === null ? recallInterrupted(ownerId, record, request) : { answer: record.answer };
    },

    async remember(ownerId, claim, answer) {
      // If it is not remembered, a repeated request is first refused as in progress, and then gets the delivery status.
      // So a store that is slow at the moment does not delay the response.
      using deadline = createDeadline(rememberMs);
      const late = new Promise<void>((resolve) => deadline.signal.addEventListener('abort', () => resolve()));
      await Promise.race([orNull(store.idempotency.saveResponse(ownerId, claim.keyDigest, answer)), late]);
    },
  };
}

function inProgress(): Refusal {
  return new Refusal('idempotency_in_progress', { headers: { 'Retry-After': '1' } });
}

/** If the store fails or a key is lost, the request continues, and its response reports that. */
async function orNull<T>(asking: Promise<T>): Promise<T | null> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof EncryptionKeyMissing) return null;
    throw error;
  }
}

/** What is known about a request whose process died: its stored targets, and their outcomes after it was resumed. */
function interruptedReport(
  definitions: ChannelDefinitions,
  request: NormalizedRequest,
  dispatch: Dispatch | null,
  results: DispatchResults,
) {
  const plan = definitions.map((channel) => {
    const ids = dispatch === null ? [] : targetIdsOf(dispatch, channel.name);
    return { ...channel.planFromDispatch(request, ids), targets: ids.map((id) => ({ id })) };
  });
  const result = Object.fromEntries(
    plan.map(({ channel: { name }, isTransient }) => [
      name,
      isTransient ? [interruptedTransient] : toOutcomes(results[name] ?? []),
    ]),
  );
  const isRetryScheduled = plan.some(
    ({ channel: { name, reportsStrictly } }) =>
      !(request.strictDelivery && reportsStrictly) && outcomesOf(result, name).some(({ kind }) => kind === 'retry'),
  );
  return report(request, plan, null, result, isRetryScheduled);
}

const interruptedTransient: Outcome = rejected(
  'refused',
  'The request was interrupted: it is not known whether the message was received',
);

function toOutcomes(kinds: readonly OutcomeKind[]): Outcome[] {
  const error = 'The first attempt did not reach it';
  return kinds.map((kind) => {
    if (kind === 'retry') return retry('deferred', error);
    if (kind === 'rejected') return rejected('refused', error);
    return kind === 'sent' ? { kind } : { kind, error };
  });
}
