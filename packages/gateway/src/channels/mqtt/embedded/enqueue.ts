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
    const reserved = ReservedEntries.reserve(entries, limitPolicy);
    if (reserved === null) return limitPolicy.refuse(entries);
    const added = await store(reserved, notificationId);
    const outcome = reserved.commit(notificationId, payload, (index) => added[index] === true);
    await limitPolicy.enforce(reserved.entries);
    return outcome.kind === 'sent' || (await isKnown(reserved.entries, notificationId)) ? sent : outcome;
  };

  async function store(reserved: ReservedEntries, notificationId: string): Promise<readonly boolean[]> {
    try {
      return await rows.enqueue(reserved.entries.map(({ queue, qos }) => ({ queue: queue.name, notificationId, qos })));
    } catch (error) {
      reserved.release();
      throw error;
    }
  }

  /** A message may be queued already, as after a timeout, or delivered; otherwise its session or device was deleted. */
  async function isKnown([first]: readonly QueueEntry[], notificationId: string): Promise<boolean> {
    const { ownerId, deviceId } = (first as QueueEntry).queue.name;
    return (await rows.findProgress(ownerId, notificationId, [deviceId])).has(deviceId);
  }
}

/** Reserved places of one message in queues of its device. */
export class ReservedEntries {
  readonly entries: readonly QueueEntry[];
  readonly #limitPolicy: LimitPolicy;

  private constructor(entries: readonly QueueEntry[], limitPolicy: LimitPolicy) {
    this.entries = entries;
    this.#limitPolicy = limitPolicy;
  }

  /** In the queues that have space; null if all are full. */
  static reserve(entries: readonly QueueEntry[], limitPolicy: LimitPolicy): ReservedEntries | null {
    const reserved = limitPolicy.reserve(entries);
    return reserved.length === 0 ? null : new ReservedEntries(reserved, limitPolicy);
  }

  /** The transaction was committed; `isStored` is false for entries that it left out. */
  commit(notificationId: string, payload: Buffer, isStored: (index: number) => boolean): Outcome {
    let outcome = notStoredIn(this.entries);
    for (const [index, { queue, qos }] of this.entries.entries()) {
      if (isStored(index)) {
        queue.arrived(notificationId, qos, payload);
        outcome = sent;
      } else this.#limitPolicy.release(queue);
    }
    return outcome;
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
