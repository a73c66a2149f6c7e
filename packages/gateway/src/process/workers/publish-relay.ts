// The primary's end of the path to the embedded broker: publishes the messages of one worker and returns the outcomes.
import type { MqttMessage, MqttPublisher } from '../../channels/mqtt/publisher.ts';
import type { Outcome } from '../../core/outcome.ts';
import { MessageBatcher } from './message-batcher.ts';
import type { Numbered } from './messages.ts';

const failed: Outcome = {
  kind: 'retry',
  reason: 'deferred',
  error: 'The embedded MQTT broker failed to accept the message',
};

/** `post` sends outcomes to the worker. A publish that rejects fails this message only, not the primary. */
export function createPublishRelay(
  publisher: MqttPublisher,
  post: (outcomes: Numbered<Outcome>[]) => void,
): (messages: readonly Numbered<MqttMessage>[]) => void {
  const batcher = new MessageBatcher(post);
  // The worker enforces the deadline and ignores outcomes that arrive later.
  const neverAborts = new AbortController().signal;
  return (messages) => {
    for (const [number, message] of messages) {
      void Promise.try(() => publisher.publish(message, neverAborts))
        .catch(() => failed)
        .then((outcome) => batcher.add([number, outcome]));
    }
  };
}
