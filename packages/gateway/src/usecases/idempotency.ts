// A request that comes again under the same Idempotency-Key: the first answer, also where a crash kept it from being given.
import type { NormalizedRequest } from '@tocsin/contract';
import { createDeadline } from '../core/deadline.ts';
import { isLeaseOver } from '../core/lease.ts';
import { type Outcome, type OutcomeKind, rejected, retry } from '../core/outcome.ts';
import type { Plan } from '../core/plan.ts';
import { Refusal } from '../core/refusal.ts';
import { type DeliveryResult, report } from '../core/response.ts';
import { queuesOf } from '../delivery/dispatch.ts';
import type { Accepted } from './accept.ts';
import {
  type ChannelName,
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

export interface IdempotencyParts {
  store: Pick<Store, 'idempotency' | 'dispatches' | 'deliveries'>;
  now: () => number;
}

/** The first answer as it was given, or, where its process died before that, what it would have said. */
export type Recalled = { answer: StoredResponse } | { interrupted: Accepted };

export interface Idempotency {
  /** null when this is the first request under the key. Refuses another request under it, and one still being answered. */
  recall(ownerId: string, claim: IdempotencyClaim, request: NormalizedRequest): Promise<Recalled | null>;
  remember(ownerId: string, claim: IdempotencyClaim, answer: StoredResponse): Promise<void>;
}

export function createIdempotency({ store, now }: IdempotencyParts): Idempotency {
  async function recallInterrupted(
    ownerId: string,
    { notificationId, leaseUntil }: IdempotencyRecord,
    request: NormalizedRequest,
  ): Promise<Recalled> {
    if (!isLeaseOver(leaseUntil, now())) throw inProgress();
    const kept = await store.dispatches.find(ownerId, notificationId);
    // Whoever takes over the dispatch of the dead process is about to settle it.
    if (kept !== null && kept.results === null) throw inProgress();
    const results = kept?.results && (await sinceDelivered(ownerId, notificationId, kept.dispatch, kept.results));
    return { interrupted: { id: notificationId, ...reportOf(request, kept?.dispatch ?? null, results ?? null) } };
  }

  /** What the dead process did not send was put into the queue, and may have been delivered from there. */
  async function sinceDelivered(
    ownerId: string,
    notificationId: string,
    dispatch: Dispatch,
    results: DispatchResults,
  ): Promise<DispatchResults> {
    const queues = queuesOf(ownerId, dispatch);
    const deliveries = await store.deliveries.list({ ownerId, notificationId, limit: Math.max(1, queues.length) });
    const of = (channel: ChannelName): OutcomeKind[] =>
      queues
        .filter((queue) => queue.channel === channel)
        .map(({ target }, index) => {
          const first = results[channel][index] as OutcomeKind;
          const state = deliveries.find((each) => each.channel === channel && each.target === target)?.state;
          if (state === 'sent') return 'sent';
          // A strict caller hears how its one attempt ended, and nothing before.
          if (state === 'waiting' && channel === 'mqtt' && dispatch.isStrict) throw inProgress();
          return state === 'dead' && first === 'retry' ? 'rejected' : first;
        });
    return { push: of('push'), email: of('email'), mqtt: of('mqtt') };
  }

  return {
    async recall(ownerId, claim, request) {
      const record = await orNull(store.idempotency.find(ownerId, claim.keyDigest, now()));
      if (record === null) return null;
      if (record.fingerprint !== claim.fingerprint) throw new Refusal('idempotency_mismatch');
      return record.answer === null ? recallInterrupted(ownerId, record, request) : { answer: record.answer };
    },

    async remember(ownerId, claim, answer) {
      // Told without it, a caller that repeats the request hears that it is in progress, and then what became of it. So
      // a store that is slow just now does not hold up the answer.
      using patience = createDeadline(rememberMs);
      const late = new Promise<void>((resolve) => patience.signal.addEventListener('abort', () => resolve()));
      await Promise.race([orNull(store.idempotency.saveResponse(ownerId, claim.keyDigest, answer)), late]);
    },
  };
}

function inProgress(): Refusal {
  return new Refusal('idempotency_in_progress', { headers: { 'Retry-After': '1' } });
}

/** A store that does not answer, or a lost key, does not silence the bells: the request goes on, and is told the truth. */
async function orNull<T>(asking: Promise<T>): Promise<T | null> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof EncryptionKeyMissing) return null;
    throw error;
  }
}

/** What is known of a request whose process died: whom it was to tell, and how that went when another took it up. */
function reportOf(request: NormalizedRequest, dispatch: Dispatch | null, results: DispatchResults | null) {
  const result: DeliveryResult = {
    push: toOutcomes(results?.push ?? []),
    email: toOutcomes(results?.email ?? []),
    mqtt: request.customBroker === null ? toOutcomes(results?.mqtt ?? []) : [customBrokerUnknown],
  };
  const isMqttSkipped = request.sendMqtt && result.mqtt.length === 0;
  const plan: Plan = {
    push: { enabled: request.sendPush, targets: [], isHushed: false },
    email: {
      enabled: request.sendEmail ?? dispatch?.email ?? false,
      targets: [],
      isHushed: false,
      // With `sendEmail` absent it is not known any more whether address, preference or quiet hours decided.
      skipReason: request.sendEmail === false ? 'disabled_by_request' : null,
    },
    mqtt: {
      enabled: request.sendMqtt,
      targets: [],
      isHushed: false,
      skipReason: !request.sendMqtt ? 'disabled_by_request' : isMqttSkipped ? 'no_active_devices' : null,
    },
  };
  const mqttRetried = request.strictDelivery ? [] : result.mqtt;
  const isScheduled = [...result.push, ...result.email, ...mqttRetried].some(({ kind }) => kind === 'retry');
  return report(request, plan, null, result, isScheduled);
}

const customBrokerUnknown: Outcome = {
  kind: 'rejected',
  reason: 'refused',
  error: 'The request was cut off: it is not known whether the custom MQTT broker got it',
};

function toOutcomes(kinds: readonly OutcomeKind[]): Outcome[] {
  const error = 'The first attempt did not reach it';
  return kinds.map((kind) => {
    if (kind === 'retry') return retry('deferred', error);
    if (kind === 'rejected') return rejected('refused', error);
    return kind === 'sent' ? { kind } : { kind, error };
  });
}
