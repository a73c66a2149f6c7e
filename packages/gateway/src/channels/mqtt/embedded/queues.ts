// All queues of the embedded broker: one for each session, and one for each device. The limit on their length is kept here.
import type { Qos } from '@tocsin/contract';
import { deviceTopic } from '../../../core/device-topics.ts';
import type { Outcome } from '../../../core/outcome.ts';
import type { MqttQueueName, Store } from '../../../usecases/ports/index.ts';
import type { QueueLimit } from '../config.ts';
import type { OnBrokerEvent } from './events.ts';
import type { FindPayload } from './find-payload.ts';
import { Queue } from './queue.ts';

export interface QueuesParts {
  store: Store;
  findPayload: FindPayload;
  topicPrefix: string;
  limit: QueueLimit;
  now(): number;
  onEvent: OnBrokerEvent;
  onFailed(error: unknown): void;
  /** A queue that refused messages has room again. */
  onRoom(): void;
}

export interface Due {
  queue: Queue;
  qos: Qos;
}

const full = 'The queue of the device is full';

export class Queues {
  readonly #parts: QueuesParts;
  readonly #all = new Map<string, Queue>();
  /** Those that refused a message, and were not below the limit since. */
  readonly #refusing = new Set<Queue>();
  /** Queues whose limit has been logged. */
  readonly #reported = new Set<Queue>();
  readonly #dropping = new Map<Queue, Promise<number>>();

  constructor(parts: QueuesParts) {
    this.#parts = parts;
  }

  async load(): Promise<void> {
    const rows = await this.#parts.store.mqttQueues.lengths();
    const lengths = new Map(rows.map(({ length, ...name }) => [idOf(name), length]));
    for (const [id, queue] of this.#all) queue.length = lengths.get(id) ?? 0;
    for (const { length, ...name } of rows) this.of(name).length = length;
  }

  of(name: MqttQueueName): Queue {
    const id = idOf(name);
    const known = this.#all.get(id);
    if (known !== undefined) return known;
    const { topicPrefix, store, findPayload, now, onEvent, onFailed } = this.#parts;
    const queue = new Queue(name, deviceTopic(topicPrefix, name.ownerId, name.deviceId), 0, {
      rows: store.mqttQueues,
      findPayload,
      now,
      onFailed,
      onRemoved: (each) => this.#removed(each),
      onExpired: (count) => onEvent({ kind: 'messages_dropped', reason: 'notification_deleted', count }),
    });
    this.#all.set(id, queue);
    return queue;
  }

  ofDevice(ownerId: string, deviceId: string): Queue {
    return this.of({ ownerId, deviceId, clientId: '' });
  }

  /** The session ended: what waited for it is in the queue of its device now. */
  delete(queue: Queue): void {
    queue.dispose();
    this.#forget(queue);
  }

  deleteOfDevice(ownerId: string, deviceId: string): void {
    for (const queue of [...this.#all.values()]) {
      if (queue.name.deviceId === deviceId && queue.name.ownerId === ownerId) this.delete(queue);
    }
  }

  /** Moves what waits from one queue of a device to another. */
  async move(from: Queue, to: Queue): Promise<void> {
    const { copied, removed } = await this.#parts.store.mqttQueues.move(from.name, to.name);
    from.shrank(removed);
    to.grew(copied);
  }

  /** Resolves with `sent` once the message is durable in one of the queues. Rejects when the store fails. */
  async enqueue(due: readonly Due[], notificationId: string, payload: Buffer): Promise<Outcome> {
    const { store, limit } = this.#parts;
    const dropsOldest = limit.whenFull === 'drop_oldest';
    const open = dropsOldest ? due : due.filter(({ queue }) => queue.length < limit.length);
    if (open.length === 0) return this.#refuse(due);
    // Another client of the device has room for it.
    for (const { queue } of due) if (!open.some((each) => each.queue === queue)) this.#dropped(queue, 1);
    for (const { queue } of open) queue.length += 1;
    try {
      const added = await store.mqttQueues.enqueue(
        open.map(({ queue, qos }) => ({ queue: queue.name, notificationId, qos })),
      );
      for (const [index, { queue, qos }] of open.entries()) {
        if (added[index]) queue.arrived(notificationId, qos, payload);
        else queue.length -= 1;
      }
      if (dropsOldest) await Promise.all(open.map(({ queue }) => this.#dropSurplus(queue)));
      if (added.includes(true) || (await this.#isKnown(open, notificationId))) return { kind: 'sent' };
      return open.some(({ queue }) => !queue.isOfDevice) ? sessionEnded : deviceDeleted;
    } catch (error) {
      for (const { queue } of open) queue.length -= 1;
      throw error;
    }
  }

  /** Deletes what waits for deleted notifications, and counts again what is left: other processes delete rows too. */
  async purge(): Promise<void> {
    const count = await this.#parts.store.mqttQueues.purge();
    if (count > 0) this.#parts.onEvent({ kind: 'messages_dropped', reason: 'notification_deleted', count });
    await this.load();
  }

  async flush(): Promise<void> {
    await Promise.all([...this.#all.values()].map((queue) => queue.flush()));
    for (const queue of this.#all.values()) queue.dispose();
  }

  /** It may wait already, as after a timeout, or have been delivered; otherwise its session or device is gone. */
  async #isKnown(due: readonly Due[], notificationId: string): Promise<boolean> {
    const { ownerId, deviceId } = (due[0] as Due).queue.name;
    return (await this.#parts.store.mqttQueues.findProgress(ownerId, notificationId, [deviceId])).has(deviceId);
  }

  #refuse(due: readonly Due[]): Outcome {
    const { whenFull } = this.#parts.limit;
    for (const { queue } of due) {
      this.#refusing.add(queue);
      if (whenFull === 'drop_newest') this.#dropped(queue, 1);
      else this.#reportFull(queue);
    }
    if (whenFull === 'drop_newest')
      return { kind: 'rejected', reason: 'refused', error: `${full}: the message was dropped` };
    return { kind: 'retry', error: full, reason: 'target_full' };
  }

  /** Publishers that find the same queue too long wait for one write. */
  async #dropSurplus(queue: Queue): Promise<void> {
    while (queue.length > this.#parts.limit.length) {
      const running = this.#dropping.get(queue) ?? this.#dropOldest(queue);
      this.#dropping.set(queue, running);
      const count = await running.finally(() => this.#dropping.delete(queue));
      // The rest is on its way to the client, or to the store.
      if (count === 0) return;
    }
  }

  async #dropOldest(queue: Queue): Promise<number> {
    const { store, limit, now } = this.#parts;
    const surplus = queue.length - limit.length;
    const rows = await store.mqttQueues.list(queue.name, { limit: surplus + queue.knownCount });
    const oldest = rows.filter(({ notificationId }) => !queue.isKnown(notificationId)).slice(0, surplus);
    if (oldest.length === 0) return 0;
    await store.mqttQueues.deadLetter(queue.name, oldest, { error: `${full}: the oldest were dropped`, at: now() });
    queue.shrank(oldest.length);
    this.#dropped(queue, oldest.length);
    return oldest.length;
  }

  #removed(queue: Queue): void {
    // Only once there is room for many: each wake-up retries everything that waits.
    if (queue.length > this.#parts.limit.length * 0.9 || !this.#refusing.delete(queue)) return;
    this.#parts.onRoom();
  }

  #dropped(queue: Queue, count: number): void {
    this.#reportFull(queue);
    this.#parts.onEvent({ kind: 'messages_dropped', reason: 'queue_full', count });
  }

  #reportFull(queue: Queue): void {
    if (this.#reported.has(queue)) return;
    this.#reported.add(queue);
    this.#parts.onEvent({ kind: 'queue_full', ...queue.name });
  }

  #forget(queue: Queue): void {
    this.#all.delete(idOf(queue.name));
    this.#refusing.delete(queue);
    this.#reported.delete(queue);
  }
}

const deviceDeleted: Outcome = { kind: 'gone', error: 'The device was deleted' };
const sessionEnded: Outcome = {
  kind: 'retry',
  reason: 'deferred',
  error: 'The session of the device ended while the message was being stored',
};

function idOf({ deviceId, clientId }: MqttQueueName): string {
  return `${deviceId}/${clientId}`;
}
