// One notification, from the request to the response: plan → save → deliver → record → respond.
import type { ChannelReport, NormalizedRequest, StoreReason } from '@tocsin/contract';
import type { ChannelDefinitions } from '../core/channel.ts';
import { leaseMs } from '../core/lease.ts';
import { type IsConfigured, type Plan, plan, takesPart } from '../core/plan.ts';
import { type DeliveryResult, report } from '../core/response.ts';
import {
  type Attempted,
  createFirstAttempts,
  type FirstAttempt,
  type FirstAttemptDeps,
} from '../delivery/first-attempt.ts';
import type { Directory } from './directory.ts';
import {
  EncryptionKeyMissing,
  type IdempotencyClaim,
  type Notification,
  type NotificationWriter,
  type Saved,
  type SaveOptions,
  StoreUnavailable,
} from './ports/index.ts';

export interface AcceptRequest {
  ownerId: string;
  requestId: string;
  request: NormalizedRequest;
  /** Present if the caller sent an Idempotency-Key. */
  idempotency: IdempotencyClaim | null;
}

/** `duplicate` if the idempotency key was used before: nothing was stored or sent. */
export type Accept = (accepting: AcceptRequest) => Promise<Accepted | 'duplicate'>;
export type Accepted = ChannelReport & { id: string };

export interface ProcessDeps extends FirstAttemptDeps {
  notifications: NotificationWriter;
  newId: () => string;
  now: () => number;
  onStoreFailure: (failure: { reason: StoreReason; error: Error; requestId: string }) => void;
}

export interface AcceptDeps extends ProcessDeps {
  definitions: ChannelDefinitions;
  isConfigured: IsConfigured;
  directory: Pick<Directory, 'recipientsOf'>;
}

export function createAccept(deps: AcceptDeps): Accept {
  const process = createProcess(deps);
  const definitions = deps.definitions.filter((channel) => takesPart(channel, deps.isConfigured));
  return async (accepting) => {
    const { ownerId, request } = accepting;
    const recipients = await deps.directory.recipientsOf(ownerId);
    const now = deps.now();
    const planned = plan(definitions, request, recipients, now);
    const processed = await process(accepting, planned, now);
    if (processed === 'duplicate') return processed;
    const { id, storeReason, result, isRetryScheduled } = processed;
    return { id, ...report(request, planned, storeReason, result, isRetryScheduled) };
  };
}

export interface Processed {
  id: string;
  /** null: stored. */
  storeReason: StoreReason | null;
  result: DeliveryResult;
  isRetryScheduled: boolean;
}

export type Process = (accepting: AcceptRequest, planned: Plan, now: number) => Promise<Processed | 'duplicate'>;

/** Stores a planned notification and delivers it. If the store fails it is delivered all the same, and the reason reported. */
export function createProcess(deps: ProcessDeps): Process {
  const storePlanned = createStorePlanned(deps);
  return async (accepting, planned, now) => {
    const stored = await storePlanned(accepting, planned, now);
    if (stored === 'duplicate') return stored;
    const { id, storeReason, deliver } = stored;
    return { id, storeReason, ...(await deliver()) };
  };
}

export interface StoredPlan {
  id: string;
  /** null: stored. */
  storeReason: StoreReason | null;
  /** Makes the first attempt, without the store if it failed. */
  deliver(): Promise<Attempted>;
  /** Instead of `deliver`, if the notification is not stored and its sender will repeat it. */
  cancel(): void;
}

export type StorePlanned = (accepting: AcceptRequest, planned: Plan, now: number) => Promise<StoredPlan | 'duplicate'>;

/** The notification is durable when it resolves, unless there is a `storeReason`. */
export function createStorePlanned(deps: ProcessDeps): StorePlanned {
  const createFirstAttempt = createFirstAttempts(deps);
  return async ({ ownerId, requestId, request, idempotency }, planned, now) => {
    const notification: Notification = { id: deps.newId(), ownerId, createdAt: now, content: request.content };
    const { id } = notification;
    const attempt = createFirstAttempt(notification, request, planned);
    const { original } = request;
    const options = { ...attempt.toSave, idempotency, original, leaseUntil: now + leaseMs };
    const saved = await save(deps, requestId, notification, options, attempt);
    if (saved === 'duplicate') {
      attempt.cancel();
      return saved;
    }
    const { cancel } = attempt;
    if (typeof saved === 'string' && saved !== 'saved') {
      return { id, storeReason: saved, deliver: () => attempt.runUnstored(), cancel };
    }
    const notQueued = saved === 'saved' ? [] : saved.notQueued;
    return { id, storeReason: null, deliver: () => attempt.run(notQueued), cancel };
  };
}

async function save(
  { notifications, onStoreFailure }: Pick<ProcessDeps, 'notifications' | 'onStoreFailure'>,
  requestId: string,
  notification: Notification,
  options: SaveOptions,
  attempt: Pick<FirstAttempt, 'cancel'>,
): Promise<Saved | StoreReason> {
  try {
    return await notifications.save(notification, options);
  } catch (error) {
    if (error instanceof EncryptionKeyMissing || error instanceof StoreUnavailable) {
      const reason = error instanceof StoreUnavailable ? 'store_unavailable' : 'encryption_key_missing';
      onStoreFailure({ reason, error, requestId });
      return reason;
    }
    attempt.cancel();
    throw error;
  }
}
