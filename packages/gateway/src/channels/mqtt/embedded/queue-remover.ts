// acknowledged → removed: deletes the rows of one queue, and stores the receipts of the acknowledged ones in the same
// transaction. They wait for each other a moment, so that many share a commit that no request waits for; a message whose
// acknowledgement is lost in a crash meanwhile is sent again.
import type { Qos } from '@tocsin/contract';
import type { MqttQueueName, MqttQueueRepository, MqttReceipt } from '../../../usecases/ports/index.ts';
import type { MessageStates } from './message-states.ts';

const writeAfterMs = 20;
const writeAt = 256;

export interface QueueRemoverDeps {
  name: MqttQueueName;
  rows: Pick<MqttQueueRepository, 'confirm' | 'remove'>;
  messages: MessageStates;
  now(): number;
  /** The queue is shorter by this number of messages; negative if it has them after all. */
  onRemoved(count: number): void;
  /** Messages were removed because their notification was deleted. */
  onExpired(count: number): void;
  /** The write failed: `resume` repeats it. */
  onFailed(error: unknown): void;
}

export class QueueRemover {
  readonly #deps: QueueRemoverDeps;
  #acknowledged: MqttReceipt[] = [];
  #expired: string[] = [];
  #unremoved = 0;
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isDisposed = false;

  constructor(deps: QueueRemoverDeps) {
    this.#deps = deps;
  }

  /** Acknowledged messages whose rows are still in the store. */
  get unremovedCount(): number {
    return this.#unremoved;
  }

  acknowledge({ notificationId, qos }: { notificationId: string; qos: Qos }): void {
    if (this.#isDisposed) return;
    this.#acknowledged.push({ notificationId, qos, deliveredAt: this.#deps.now() });
    this.#unremoved += 1;
    // Places in the queue are free at once: a client that keeps up never fills it.
    this.#deps.onRemoved(1);
    this.#schedule();
  }

  /** The notification was deleted, so there is nothing to send. */
  expire(notificationId: string): void {
    if (this.#isDisposed) return;
    this.#deps.messages.expire(notificationId);
    this.#expired.push(notificationId);
    this.#schedule();
  }

  /** After a failure. */
  resume(): void {
    if (this.#pending > 0) void this.flush();
  }

  /** Resolves when every acknowledgement so far is stored, or could not be. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running ??= this.#run();
    return this.#running;
  }

  dispose(): void {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
    this.#acknowledged = [];
    this.#expired = [];
  }

  get #pending(): number {
    return this.#acknowledged.length + this.#expired.length;
  }

  #schedule(): void {
    if (this.#running !== null) return;
    if (this.#pending >= writeAt) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), writeAfterMs);
  }

  async #run(): Promise<void> {
    const { name, rows, messages, onRemoved, onExpired, onFailed } = this.#deps;
    let acknowledged: MqttReceipt[] = [];
    let expired: string[] = [];
    try {
      while (this.#pending > 0) {
        [acknowledged, expired] = [this.#acknowledged, this.#expired];
        [this.#acknowledged, this.#expired] = [[], []];
        // A client may acknowledge what another has acknowledged before.
        onRemoved((await rows.confirm(name, acknowledged)) - acknowledged.length);
        this.#unremoved -= acknowledged.length;
        for (const { notificationId } of acknowledged) messages.remove(notificationId);
        acknowledged = [];
        onRemoved(await rows.remove(name, expired));
        for (const notificationId of expired) messages.remove(notificationId);
        if (expired.length > 0) onExpired(expired.length);
        expired = [];
      }
    } catch (error) {
      this.#acknowledged = acknowledged.concat(this.#acknowledged);
      this.#expired = expired.concat(this.#expired);
      onFailed(error);
    } finally {
      this.#running = null;
    }
  }
}
