// The worker's end of the path to the embedded broker in the primary: sends messages and receives their outcomes.
import { unreachable } from '../../channels/mqtt/outcome.ts';
import type { MqttMessage, MqttPublisher } from '../../channels/mqtt/publisher.ts';
import type { Outcome } from '../../core/outcome.ts';
import { MessageBatcher } from './message-batcher.ts';
import type { Numbered } from './messages.ts';

const tooLate = unreachable('The embedded MQTT broker did not accept the message in time');
const primaryIsGone = unreachable('The embedded MQTT broker has stopped');

export class RemotePublisher implements MqttPublisher {
  readonly #batcher: MessageBatcher<Numbered<MqttMessage>>;
  readonly #settle = new Map<number, (outcome: Outcome) => void>();
  #next = 1;
  #isDisconnected = false;

  /** `post` sends messages to the primary. */
  constructor(post: (messages: Numbered<MqttMessage>[]) => void) {
    this.#batcher = new MessageBatcher(post);
  }

  publish(message: MqttMessage, signal: AbortSignal): Promise<Outcome> {
    if (this.#isDisconnected) return Promise.resolve(primaryIsGone);
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
      this.#batcher.add([number, message]);
    });
  }

  /** Resolves publishes with the outcomes that the primary returned. */
  settle(outcomes: readonly Numbered<Outcome>[]): void {
    for (const [number, outcome] of outcomes) this.#settle.get(number)?.(outcome);
  }

  /** The primary has exited: pending and later publishes end as unreachable. */
  disconnect(): void {
    this.#isDisconnected = true;
    for (const settle of [...this.#settle.values()]) settle(primaryIsGone);
  }

  check(): Promise<string | null> {
    return Promise.resolve(this.#isDisconnected ? primaryIsGone.error : null);
  }

  /** Does nothing: the primary closes the broker. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
