// One notification, from the caller's request to the answer: plan → save → deliver → settle → answer.
import type { ChannelReport, NormalizedRequest, StoreReason } from '@tocsin/contract';
import { type DeliveryResult, report } from '../core/answer.ts';
import { plan } from '../core/plan.ts';
import { deliver } from './deliver.ts';
import type { Directory } from './directory.ts';
import { dispatchOf } from './dispatch.ts';
import type { FollowUp } from './follow-up.ts';
import { leaseMs } from './lease.ts';
import {
  type Channels,
  EncryptionKeyMissing,
  type IdempotencyClaim,
  type Notification,
  type NotificationStore,
  type SaveOptions,
  StoreUnavailable,
} from './ports.ts';

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
  store: NotificationStore;
  directory: Pick<Directory, 'recipientsOf'>;
  channels: Channels;
  followUp: Pick<FollowUp, 'settle' | 'settlements' | 'recovery'>;
  newId: () => string;
  now: () => number;
  onStoreFailure: (failure: { reason: StoreReason; error: Error; requestId: string }) => void;
}

export function createAccept(parts: AcceptParts): Accept {
  return async ({ ownerId, requestId, request, idempotency }) => {
    const recipients = await parts.directory.recipientsOf(ownerId);
    const now = parts.now();
    const route = plan(request, recipients, now);
    const { title, body, source, category, severity, data } = request;
    const content = { title, body, source, category, severity, data };
    const notification: Notification = { id: parts.newId(), ownerId, createdAt: now, ...content };
    const dispatch = dispatchOf(request, route);
    if (dispatch !== null) parts.followUp.settlements.expect(notification.id);
    const saved = await save(parts, requestId, notification, { dispatch, idempotency, leaseUntil: now + leaseMs });
    if (saved === 'duplicate') {
      parts.followUp.settlements.forget(notification.id);
      return saved;
    }
    const storeReason = saved === 'saved' ? null : saved;
    const result = await deliver(parts.channels, notification, route, {
      qos: request.mqttQos,
      customBroker: request.customBroker,
      ...(storeReason !== null && { isStored: false }),
    });
    // What becomes of brokers that callers bring says nothing about ours.
    parts.followUp.recovery.note(request.customBroker === null ? result : { ...result, mqtt: [] });
    const isScheduled =
      dispatch !== null &&
      (await parts.followUp.settle(notification, dispatch, storeReason === null ? result : final(result)));
    return { id: notification.id, ...report(request, route, storeReason, result, isScheduled) };
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
    return await parts.store.save(notification, options);
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
    outcomes.map((outcome) =>
      outcome.kind === 'retry' ? { ...outcome, kind: 'rejected' as const, wasAsked: false as const } : outcome,
    );
  return { push: end(push), email: end(email), mqtt: end(mqtt) };
}
