// The limit on the length of a queue: a message is reserved against it before it is stored, and `whenFull` decides what
// happens to a message beyond it.
//
//   wait          refused; it becomes a delivery in the retry queue, which is woken when the queue has space again
//   drop_newest   refused; it becomes a dead delivery
//   drop_oldest   stored; the oldest messages of the queue become dead deliveries
import type { Outcome } from '../../../core/outcome.ts';
import type { MqttQueueRepository } from '../../../usecases/ports/index.ts';
import type { QueueLimit } from '../config.ts';
import type { OnBrokerEvent } from './events.ts';
import type { Queue, QueueEntry } from './queue.ts';

export interface LimitPolicyDeps {
  rows: Pick<MqttQueueRepository, 'list' | 'deadLetter'>;
  limit: QueueLimit;
  now(): number;
  onEvent: OnBrokerEvent;
  /** A queue that refused messages has space again. */
  onRoom(): void;
}

const full = 'The queue of the device is full';
/** The share of the limit at which the retry queue is woken: not sooner, because that retries all of its messages. */
const wakeAtShare = 0.9;

export class LimitPolicy {
  readonly #deps: LimitPolicyDeps;
  /** Queues that refused a message and have had no space since. */
  readonly #refusing = new Set<Queue>();
  /** Queues of which `queue_full` was reported. */
  readonly #reported = new Set<Queue>();
  readonly #dropping = new Map<Queue, Promise<number>>();

  constructor(deps: LimitPolicyDeps) {
    this.#deps = deps;
  }

  /** Whether a message for these queues neither has to wait nor drops another. */
  hasSpace(entries: readonly QueueEntry[]): boolean {
    return entries.every(({ queue }) => queue.length < this.#deps.limit.length);
  }

  /** Reserves a place for one message in each queue that has space, and returns these; empty if all are full. */
  reserve(entries: readonly QueueEntry[]): readonly QueueEntry[] {
    const { length, whenFull } = this.#deps.limit;
    const open = whenFull === 'drop_oldest' ? entries : entries.filter(({ queue }) => queue.length < length);
    for (const { queue } of open) queue.length += 1;
    // The device still gets the message through a queue that has space, so it is dropped from the others.
    if (open.length > 0 && open.length < entries.length) {
      for (const entry of entries) if (!open.includes(entry)) this.#reportDropped(entry.queue, 1);
    }
    return open;
  }

  /** The message was not added to the queue. */
  release(queue: Queue): void {
    queue.length -= 1;
  }

  /** The outcome of a message for which all queues are full. */
  refuse(entries: readonly QueueEntry[]): Outcome {
    const { whenFull } = this.#deps.limit;
    for (const { queue } of entries) {
      this.#refusing.add(queue);
      if (whenFull === 'drop_newest') this.#reportDropped(queue, 1);
      else this.#reportFull(queue);
    }
    if (whenFull === 'drop_newest') {
      return { kind: 'rejected', reason: 'refused', error: `${full}: the message was dropped` };
    }
    return { kind: 'retry', error: full, reason: 'target_full' };
  }

  /** With `drop_oldest`: shortens queues that are longer than the limit now. */
  async enforce(entries: readonly QueueEntry[]): Promise<void> {
    if (this.#deps.limit.whenFull !== 'drop_oldest') return;
    await Promise.all(entries.map(({ queue }) => this.#dropSurplus(queue)));
  }

  /** Messages were removed from the queue. */
  removed(queue: Queue): void {
    const { limit, onRoom } = this.#deps;
    if (queue.length <= limit.length * wakeAtShare && this.#refusing.delete(queue)) onRoom();
  }

  /** The queue was deleted. */
  forget(queue: Queue): void {
    this.#refusing.delete(queue);
    this.#reported.delete(queue);
  }

  /** Publishers that find the same queue too long wait for one write. */
  async #dropSurplus(queue: Queue): Promise<void> {
    while (queue.length > this.#deps.limit.length) {
      const running = this.#dropping.get(queue) ?? this.#dropOldest(queue);
      this.#dropping.set(queue, running);
      const count = await running.finally(() => this.#dropping.delete(queue));
      // The others are being sent or stored.
      if (count === 0) return;
    }
  }

  async #dropOldest(queue: Queue): Promise<number> {
    const { rows, limit, now } = this.#deps;
    const surplus = queue.length - limit.length;
    const stored = await rows.list(queue.name, { limit: surplus + queue.knownCount });
    const oldest = stored.filter(({ notificationId }) => !queue.isKnown(notificationId)).slice(0, surplus);
    if (oldest.length === 0) return 0;
    await rows.deadLetter(queue.name, oldest, { error: `${full}: the oldest were dropped`, at: now() });
    queue.rowsRemoved(oldest.length);
    this.#reportDropped(queue, oldest.length);
    return oldest.length;
  }

  #reportDropped(queue: Queue, count: number): void {
    this.#reportFull(queue);
    this.#deps.onEvent({ kind: 'messages_dropped', reason: 'queue_full', count });
  }

  #reportFull(queue: Queue): void {
    if (this.#reported.has(queue)) return;
    this.#reported.add(queue);
    this.#deps.onEvent({ kind: 'queue_full', ...queue.name });
  }
}
