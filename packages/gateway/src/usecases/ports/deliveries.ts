// Dispatches (the first attempt to send a notification), deliveries that wait for a retry, and their queues.
import type { Qos } from '@tocsin/contract';
import type { Dispatch, DispatchResults } from '../../core/dispatch.ts';

export type { Dispatch, DispatchResults } from '../../core/dispatch.ts';

/** The name of a channel of the registry, or of one that another version has. */
export type ChannelName = string;

/** A send to one target that did not succeed at the first attempt. */
export interface Delivery {
  ownerId: string;
  notificationId: string;
  channel: ChannelName;
  /** Id of the target; empty if the owner has only one on this channel. */
  target: string;
  state: 'waiting' | 'sent' | 'dead';
  /** Number of retries, not counting the first attempt. */
  attempts: number;
  qos: Qos;
  createdAt: number;
  /** Time of the next attempt; null if the delivery is sent or dead. */
  nextAt: number | null;
  /** Earliest time of the next attempt, as requested by the provider, even if the channel recovers sooner. */
  notBefore: number;
  /** After this time, and the minimum number of attempts, the delivery becomes dead. */
  expiresAt: number;
  /** When it was sent or became dead. */
  endedAt: number | null;
  /** Error of the last attempt. */
  error: string;
}

/** The target whose waiting deliveries form one queue, in the order of acceptance. */
export interface TargetQueueName {
  ownerId: string;
  channel: ChannelName;
  target: string;
}

/** A claimed queue: no other process sends to its target until the lease expires. */
export interface TargetQueue extends TargetQueueName {
  leaseUntil: number;
}

export interface DispatchToSettle {
  ownerId: string;
  notificationId: string;
  results: DispatchResults;
  /** Deliveries that failed. */
  failed: readonly Delivery[];
  /** Deliveries still being sent: they are queued in queues that the caller holds until `leaseUntil`. */
  sending?: { deliveries: readonly Delivery[]; leaseUntil: number };
}

export interface DeliveryFilter {
  ownerId: string;
  notificationId?: string;
  state?: Delivery['state'];
  /** Newest notification first. */
  limit: number;
}

export interface WaitingTotals {
  waiting: number;
  dead: number;
  /** When the oldest waiting delivery was accepted; null if none is waiting. */
  oldestWaitingAt: number | null;
}

/** Targets that each notification was to be sent to at its first attempt, and the results. */
export interface DispatchRepository {
  /** Resolves once durable. Settling a dispatch a second time has no effect. */
  settle(settled: readonly DispatchToSettle[]): Promise<void>;
  /**
   * Claims dispatches with an expired lease: their process died before it settled them. `all` ignores leases, for a
   * caller that knows that no other process is running.
   */
  claim(
    now: number,
    leaseUntil: number,
    limit: number,
    which?: 'orphaned' | 'all',
  ): Promise<{ ownerId: string; notificationId: string; dispatch: Dispatch }[]>;
  find(
    ownerId: string,
    notificationId: string,
  ): Promise<{ dispatch: Dispatch; results: DispatchResults | null } | null>;
}

/** Queues of waiting deliveries, one per target. A queue exists while deliveries wait in it; one process holds it at a time. */
export interface TargetQueueRepository {
  /** Claims queues that are due and not held, until `leaseUntil`. */
  claim(now: number, leaseUntil: number, limit: number): Promise<TargetQueue[]>;
  /**
   * null if the lease has expired and another process claimed the queue. While it is closing no delivery can join, so
   * that it ends even under load.
   */
  extend(queue: TargetQueue, leaseUntil: number, isClosing?: boolean): Promise<TargetQueue | null>;
  /**
   * Releases the lease; the queue is due at `at` (default: with its first delivery), or now if it was woken meanwhile.
   * An empty queue is deleted. With `ifNothingSince`, returns false and keeps the lease if a delivery has joined that
   * may be attempted at that time.
   */
  release(queue: TargetQueue, options?: { at?: number; ifNothingSince?: number }): Promise<boolean>;
  /**
   * Counts an attempt for every due delivery of the queue and postpones it, at least to `notBefore`. Expired deliveries
   * with at least `minAttempts` attempts become dead and are returned.
   */
  postponeDue(
    queue: TargetQueueName,
    now: number,
    schedule: { delaysMs: readonly number[]; minAttempts: number; notBefore: number },
  ): Promise<Delivery[]>;
  /** Ends the leases of queues and idempotency keys and makes the queues due, for a caller that knows that no other process is running. */
  expireLeases(now: number): Promise<void>;
  /** Makes all waiting deliveries of the queue dead. */
  deadLetter(queue: TargetQueueName, now: number): Promise<void>;
  /** Makes every queue of a channel due now; returns how many. */
  wake(channel: ChannelName, now: number): Promise<number>;
  /**
   * Makes deliveries and queues due now whose times were written by a clock that ran ahead. Expiry times stay, since
   * this clock may be the wrong one. `wasSetBack`: this process saw its clock go back, so shorter times are reset too.
   */
  resetTimesAhead(now: number, options?: { wasSetBack?: boolean }): Promise<void>;
  /**
   * Appends a delivery to the queue of its target, durably, if a delivery waits there that may be attempted at `now`.
   * Never creates a queue. `closing`: the last delivery is being sent; the caller may ask again soon, or insist.
   */
  join(delivery: Delivery, now: number, insist: boolean): Promise<'joined' | 'none' | 'closing'>;
  isClosing(queue: TargetQueueName): Promise<boolean>;
  /** Whether a delivery waits for the target that may be attempted at `now`. */
  hasWaiting(queue: TargetQueueName, now: number): Promise<boolean>;
  /** All queues with such a delivery. */
  list(now: number): Promise<TargetQueueName[]>;
}

/** Deliveries that failed at the first attempt: waiting for a retry, sent since, or dead. */
export interface DeliveryRepository {
  /** Deliveries that may be attempted now, in the order of acceptance, after the notification `after`. */
  listWaiting(queue: TargetQueueName, page: { now: number; limit: number; after?: string }): Promise<Delivery[]>;
  /** Writes state, attempts, times and error of waiting deliveries. */
  update(deliveries: readonly Delivery[]): Promise<void>;
  /** The newest notification with a waiting delivery, or null. */
  newestWaiting(): Promise<string | null>;
  countWaiting(ownerId: string): Promise<number>;
  totals(): Promise<WaitingTotals>;
  list(filter: DeliveryFilter): Promise<Delivery[]>;
  /** Resets waiting and dead deliveries: due now, for another 24 hours. Returns how many. */
  retry(deliveries: readonly Delivery[], now: number): Promise<number>;
  /** Deletes deliveries; returns how many. */
  drop(deliveries: readonly Delivery[]): Promise<number>;
}
