// All queues of the embedded broker: one for each session, and one for each device.
import { deviceTopic } from '../../../core/device-topics.ts';
import type { MqttQueueName, MqttQueueRepository } from '../../../usecases/ports/index.ts';
import type { OnBrokerEvent } from './events.ts';
import type { FindPayload } from './find-payload.ts';
import type { LimitPolicy } from './limit-policy.ts';
import { Queue, type QueueDeps } from './queue.ts';

export interface QueuesDeps {
  rows: MqttQueueRepository;
  findPayload: FindPayload;
  limitPolicy: LimitPolicy;
  topicPrefix: string;
  now(): number;
  onEvent: OnBrokerEvent;
  onFailed(error: unknown): void;
}

export class Queues {
  readonly #deps: QueuesDeps;
  readonly #queueDeps: QueueDeps;
  readonly #byId = new Map<string, Queue>();

  constructor(deps: QueuesDeps) {
    const { rows, findPayload, limitPolicy, now, onEvent, onFailed } = deps;
    this.#deps = deps;
    this.#queueDeps = {
      ...{ rows, findPayload, now, onFailed },
      onRemoved: (queue) => limitPolicy.removed(queue),
      onExpired: (count) => onEvent({ kind: 'messages_dropped', reason: 'notification_deleted', count }),
    };
  }

  /** Reads the lengths of all queues from the store. */
  async load(): Promise<void> {
    const rows = await this.#deps.rows.lengths();
    const lengths = new Map(rows.map(({ length, ...name }) => [idOf(name), length]));
    for (const { length, ...name } of rows) this.of(name, length);
    for (const [id, queue] of this.#byId) queue.countRows(lengths.get(id) ?? 0);
  }

  /** `length` is the number of its rows in the store, for a queue that is new here. */
  of(name: MqttQueueName, length = 0): Queue {
    const id = idOf(name);
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const topic = deviceTopic(this.#deps.topicPrefix, name.ownerId, name.deviceId);
    const queue = new Queue(name, topic, length, this.#queueDeps);
    this.#byId.set(id, queue);
    return queue;
  }

  ofDevice(ownerId: string, deviceId: string): Queue {
    return this.of({ ownerId, deviceId, clientId: '' });
  }

  /** undefined if it is empty and was never needed: most devices have a session, and messages only in its queue. */
  findOfDevice(deviceId: string): Queue | undefined {
    return this.#byId.get(idOf({ deviceId, clientId: '' }));
  }

  /** The session ended, and its messages are in the queue of its device. */
  delete(queue: Queue): void {
    queue.dispose();
    this.#byId.delete(idOf(queue.name));
    this.#deps.limitPolicy.forget(queue);
  }

  deleteOfDevice(ownerId: string, deviceId: string): void {
    for (const queue of [...this.#byId.values()]) {
      if (queue.name.deviceId === deviceId && queue.name.ownerId === ownerId) this.delete(queue);
    }
  }

  /** Moves the messages of one queue of a device to another. */
  async move(from: Queue, to: Queue): Promise<void> {
    const { copied, removed } = await this.#deps.rows.move(from.name, to.name);
    from.rowsRemoved(removed);
    to.rowsAdded(copied);
  }

  /** Deletes messages of deleted notifications, and reads the lengths again, because other processes delete rows too. */
  async purge(): Promise<void> {
    const { rows, onEvent } = this.#deps;
    const count = await rows.purge();
    if (count > 0) onEvent({ kind: 'messages_dropped', reason: 'notification_deleted', count });
    await this.load();
  }

  async flush(): Promise<void> {
    await Promise.all([...this.#byId.values()].map((queue) => queue.flush()));
    for (const queue of this.#byId.values()) queue.dispose();
  }
}

function idOf({ deviceId, clientId }: Omit<MqttQueueName, 'ownerId'>): string {
  return `${deviceId}/${clientId}`;
}
