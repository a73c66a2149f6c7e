// acknowledged → removed: deletes the rows of one queue, and stores the receipts of the acknowledged ones in the same
// transaction. Acknowledgements that come during a write are written together by the next.
import type { Qos } from '@tocsin/contract';
import type { MqttQueueName, MqttQueueRepository, MqttReceipt } from '../../../usecases/ports/index.ts';
import type { MessageStates } from './message-states.ts';

export interface QueueRemoverDeps {
  name: MqttQueueName;
  rows: Pick<MqttQueueRepository, 'confirm' | 'remove'>;
  messages: MessageStates;
  now(): number;
  /** Rows of this queue were deleted. */
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
  #running: Promise<void> | null = null;
  #isDisposed = false;

  constructor(deps: QueueRemoverDeps) {
    this.#deps = deps;
  }

  acknowledge({ notificationId, qos }: { notificationId: string; qos: Qos }): void {
    if (this.#isDisposed) return;
    this.#acknowledged.push({ notificationId, qos, deliveredAt: this.#deps.now() });
    this.#running ??= this.#run();
  }

  /** The notification was deleted, so there is nothing to send. */
  expire(notificationId: string): void {
    if (this.#isDisposed) return;
    this.#deps.messages.expire(notificationId);
    this.#expired.push(notificationId);
    this.#running ??= this.#run();
  }

  /** After a failure. */
  resume(): void {
    if (this.#acknowledged.length + this.#expired.length > 0) this.#running ??= this.#run();
  }

  /** Resolves when every acknowledgement so far is stored, or could not be. */
  async flush(): Promise<void> {
    await this.#running;
  }

  dispose(): void {
    this.#isDisposed = true;
    this.#acknowledged = [];
    this.#expired = [];
  }

  async #run(): Promise<void> {
    const { name, rows, messages, onRemoved, onExpired, onFailed } = this.#deps;
    let acknowledged: MqttReceipt[] = [];
    let expired: string[] = [];
    try {
      while (this.#acknowledged.length + this.#expired.length > 0) {
        [acknowledged, expired] = [this.#acknowledged, this.#expired];
        [this.#acknowledged, this.#expired] = [[], []];
        onRemoved(await rows.confirm(name, acknowledged));
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
