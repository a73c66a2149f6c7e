// The worker's way to the embedded broker, which lives in the head: messages out, outcomes in.
import { unreachable } from '../../channels/mqtt/outcome.ts';
import type { MqttMessage, MqttPublisher } from '../../channels/mqtt/publisher.ts';
import type { Outcome } from '../../core/outcome.ts';
import { Outbox } from './message-batcher.ts';
import type { Numbered } from './messages.ts';

const tooLate = unreachable('The embedded MQTT broker did not take the message in time');
const headIsGone = unreachable('The embedded MQTT broker is gone');

export class RemotePublisher implements MqttPublisher {
  readonly #outbox: Outbox<Numbered<MqttMessage>>;
  readonly #settle = new Map<number, (outcome: Outcome) => void>();
  #next = 1;
  #isHeadGone = false;

  /** `post` sends what it is given to the head. */
  constructor(post: (messages: Numbered<MqttMessage>[]) => void) {
    this.#outbox = new Outbox(post);
  }

  publish(message: MqttMessage, signal: AbortSignal): Promise<Outcome> {
    if (this.#isHeadGone) return Promise.resolve(headIsGone);
    if (signal.aborted) return Promise.resolve(tooLate);
    const number = this.#next++;
    return new Promise((resolve) => {
      const settle = (outcome: Outcome): void => {
        this.#settle.delete(number);
        signal.removeEventListener('abort', abort);
        resolve(outcome);
      };
      const abort = (): void => settle(tooLate);
      signal.addEventListener('abort', abort, { once: true });
      this.#settle.set(number, settle);
      this.#outbox.add([number, message]);
    });
  }

  /** What the head answered. */
  take(outcomes: readonly Numbered<Outcome>[]): void {
    for (const [number, outcome] of outcomes) this.#settle.get(number)?.(outcome);
  }

  /** Nobody will answer any more. */
  giveUp(): void {
    this.#isHeadGone = true;
    for (const settle of [...this.#settle.values()]) settle(headIsGone);
  }

  check(): Promise<string | null> {
    return Promise.resolve(this.#isHeadGone ? headIsGone.error : null);
  }

  /** The broker is the head's to close. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
