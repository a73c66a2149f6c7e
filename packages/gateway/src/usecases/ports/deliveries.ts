// Whom a notification is to be told to, and what waits to be tried again.
import type { Qos } from '@tocsin/contract';
import type { OutcomeKind } from '../../core/outcome.ts';

export type ChannelName = 'push' | 'email' | 'mqtt';

/** Whom a stored notification is to be told to; targets by id, so that what is kept holds no address and no token. */
export interface Dispatch {
  qos: Qos;
  /** The caller is told of MQTT failures and answers for them: nothing is tried again there. */
  isStrict: boolean;
  push: readonly string[];
  /** The mailbox of the owner. */
  email: boolean;
  mqtt: readonly string[];
}

/** How a dispatch ended, target by target, in its order. */
export interface DispatchResults {
  push: readonly OutcomeKind[];
  email: readonly OutcomeKind[];
  mqtt: readonly OutcomeKind[];
}

/** A target that could not be told at the first attempt. */
export interface Delivery {
  ownerId: string;
  notificationId: string;
  channel: ChannelName;
  /** Id of a device or push target; empty for the mailbox of the owner. */
  target: string;
  state: 'waiting' | 'sent' | 'dead';
  /** How often its turn came since the first attempt. */
  attempts: number;
  qos: Qos;
  createdAt: number;
  /** When its turn comes; null once it is over. */
  nextAt: number | null;
  /** Not to be tried before, even when the channel works again: the provider wants this one later. */
  notBefore: number;
  /** After this it is given up, once it has had enough turns. */
  expiresAt: number;
  /** When it was sent or given up. */
  endedAt: number | null;
  /** Of the last attempt. */
  error: string;
}

/** All that waits for one target, in the order of acceptance. */
export interface LaneName {
  ownerId: string;
  channel: ChannelName;
  target: string;
}

/** A lane that is held: nobody else sends to its target until then. */
export interface Lane extends LaneName {
  leaseUntil: number;
}

export interface DispatchToSettle {
  ownerId: string;
  notificationId: string;
  results: DispatchResults;
  /** Those that were not reached. */
  failed: readonly Delivery[];
  /** Those that are still being sent: they wait in lanes that the caller holds until then. */
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
  /** When the one that waits longest was accepted; null when nothing waits. */
  oldestWaitingAt: number | null;
}

/** What redelivery keeps: dispatches until they are settled, deliveries that wait, and the lanes they wait in. */
export interface DeliveryStore {
  /** Resolves once durable. Settling twice does nothing the second time. */
  settleDispatches(settled: readonly DispatchToSettle[]): Promise<void>;
  /**
   * Takes over dispatches whose lease is over: their process died between storing and settling. `all`: whatever their
   * leases say, for a caller that knows that no other process is alive.
   */
  claimDispatches(
    now: number,
    leaseUntil: number,
    limit: number,
    which?: 'orphaned' | 'all',
  ): Promise<{ ownerId: string; notificationId: string; dispatch: Dispatch }[]>;
  findDispatch(
    ownerId: string,
    notificationId: string,
  ): Promise<{ dispatch: Dispatch; results: DispatchResults | null } | null>;

  /** Lanes that are due and that nobody holds, held until then by the caller alone. */
  claimLanes(now: number, leaseUntil: number, limit: number): Promise<Lane[]>;
  /**
   * null when it is no longer held: its lease passed and another took it. While it is closing nothing joins, so that its
   * end comes even under load.
   */
  extendLane(lane: Lane, leaseUntil: number, isClosing?: boolean): Promise<Lane | null>;
  /**
   * Gives it back; it is due at `at`, or with the first of what waits in it, or now if it was hastened meanwhile. An
   * empty lane ends. With `ifNothingSince`, false, and still held, when something joined that may be tried at that time.
   */
  releaseLane(lane: Lane, options?: { at?: number; ifNothingSince?: number }): Promise<boolean>;
  /**
   * Everything in the lane that is due has had its turn; nothing of it is due again before `notBefore`. What is too old
   * and has had `minTurns` is given up and returned.
   */
  postponeDue(
    lane: LaneName,
    now: number,
    turn: { delaysMs: readonly number[]; minTurns: number; notBefore: number },
  ): Promise<Delivery[]>;
  /** What dead processes held is free, and due now: lanes and idempotency keys. For a caller that knows that it is alone. */
  endLeases(now: number): Promise<void>;
  /** Gives up all that waits in the lane. */
  endLane(lane: LaneName, now: number): Promise<void>;
  /** Those that may be tried now, in the order of acceptance, behind the notification `after`. */
  listWaiting(lane: LaneName, page: { now: number; limit: number; after?: string }): Promise<Delivery[]>;
  /** Writes state, attempts, times and error of deliveries that are there. */
  updateDeliveries(deliveries: readonly Delivery[]): Promise<void>;
  /** Makes every lane of a channel due now; says how many. */
  hastenLanes(channel: ChannelName, now: number): Promise<number>;
  /**
   * What waits by times that a clock wrote that ran ahead is due now. Nothing is given up earlier for that: it may be
   * this clock that is wrong. `wasSetBack`: this process saw the clock go back, so that shorter times are doubted too.
   */
  resetTimesAhead(now: number, options?: { wasSetBack?: boolean }): Promise<void>;

  /**
   * Puts a delivery behind what waits for its target, durably, if anything does that may be tried at `now`. Never begins
   * a lane. `closing`: the last of it is being sent, and whoever wants to join may ask again soon, or insist.
   */
  joinLane(delivery: Delivery, now: number, insist: boolean): Promise<'joined' | 'none' | 'closing'>;
  isClosing(lane: LaneName): Promise<boolean>;
  /** Whether something waits for the target that may be tried at `now`. */
  hasQueue(lane: LaneName, now: number): Promise<boolean>;
  /** All targets for which that is so. */
  listQueues(now: number): Promise<LaneName[]>;

  /** The newest notification of which something waits; null when nothing does. */
  newestWaiting(): Promise<string | null>;
  countWaiting(ownerId: string): Promise<number>;
  waitingTotals(): Promise<WaitingTotals>;
  listDeliveries(filter: DeliveryFilter): Promise<Delivery[]>;
  /** Puts deliveries that are waiting or dead back to the start: due now, for another 24 hours. Says how many. */
  retryDeliveries(deliveries: readonly Delivery[], now: number): Promise<number>;
  /** Says how many. */
  dropDeliveries(deliveries: readonly Delivery[]): Promise<number>;
}
