// reserved → stored: puts one message into queues of its device, in one transaction.
import type { Outcome } from '../../../core/outcome.ts';
import type { MqttQueueRepository } from '../../../usecases/ports/index.ts';
import type { LimitPolicy } from './limit-policy.ts';
import type { QueueEntry } from './queue.ts';

export interface EnqueueDeps {
  rows: Pick<MqttQueueRepository, 'enqueue' | 'findProgress'>;
  limitPolicy: LimitPolicy;
}

/** Resolves with `sent` once the message is durable in one of the queues. Rejects when the store fails. */
export type Enqueue = (entries: readonly QueueEntry[], notificationId: string, payload: Buffer) => Promise<Outcome>;

export function createEnqueue({ rows, limitPolicy }: EnqueueDeps): Enqueue {
  return async (entries, notificationId, payload) => {
    const reserved = limitPolicy.reserve(entries);
    if (reserved.length === 0) return limitPolicy.refuse(entries);
    const added = await store(reserved, notificationId);
    for (const [index, { queue, qos }] of reserved.entries()) {
      if (added[index]) queue.arrived(notificationId, qos, payload);
      else limitPolicy.release(queue);
    }
    await limitPolicy.enforce(reserved);
    return added.includes(true) || (await isStored(reserved, notificationId)) ? sent : notStoredIn(reserved);
  };

  async function store(reserved: readonly QueueEntry[], notificationId: string): Promise<readonly boolean[]> {
    try {
      return await rows.enqueue(reserved.map(({ queue, qos }) => ({ queue: queue.name, notificationId, qos })));
    } catch (error) {
      for (const { queue } of reserved) limitPolicy.release(queue);
      throw error;
    }
  }

  /** A message may be queued already, as after a timeout, or delivered; otherwise its session or device was deleted. */
  async function isStored([first]: readonly QueueEntry[], notificationId: string): Promise<boolean> {
    const { ownerId, deviceId } = (first as QueueEntry).queue.name;
    return (await rows.findProgress(ownerId, notificationId, [deviceId])).has(deviceId);
  }
}

/** The reserved places of one message in the queues of a device, to be stored with its notification. */
export class ReservedEntries {
  readonly entries: readonly QueueEntry[];
  readonly #limitPolicy: LimitPolicy;

  private constructor(entries: readonly QueueEntry[], limitPolicy: LimitPolicy) {
    this.entries = entries;
    this.#limitPolicy = limitPolicy;
  }

  /** null if a queue is full. */
  static reserve(entries: readonly QueueEntry[], limitPolicy: LimitPolicy): ReservedEntries | null {
    if (!limitPolicy.hasSpace(entries)) return null;
    return new ReservedEntries(limitPolicy.reserve(entries), limitPolicy);
  }

  /** The transaction was committed; `isStored` is false for entries that it left out. */
  commit(notificationId: string, payload: Buffer, isStored: (index: number) => boolean): Outcome {
    let isAnyStored = false;
    for (const [index, { queue, qos }] of this.entries.entries()) {
      if (isStored(index)) {
        queue.arrived(notificationId, qos, payload);
        isAnyStored = true;
      } else this.#limitPolicy.release(queue);
    }
    return isAnyStored ? sent : notStoredIn(this.entries);
  }

  /** Nothing was stored. */
  release(): void {
    for (const { queue } of this.entries) this.#limitPolicy.release(queue);
  }

  /** The transaction failed, or it is not known whether it was committed. */
  cancel(): void {
    this.release();
    for (const { queue } of this.entries) queue.rowsMayBeAdded();
  }
}

const sent: Outcome = { kind: 'sent' };

function notStoredIn(entries: readonly QueueEntry[]): Outcome {
  return entries.some(({ queue }) => !queue.isOfDevice) ? sessionEnded : deviceDeleted;
}

const deviceDeleted: Outcome = { kind: 'gone', error: 'The device was deleted' };
const sessionEnded: Outcome = {
  kind: 'retry',
  reason: 'deferred',
  error: 'The session of the device ended while the message was being stored',
};
