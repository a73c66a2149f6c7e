// The head's end of the way to the embedded broker: messages of one worker in, outcomes out.
import type { MqttMessage, MqttPublisher } from '../../channels/mqtt/publisher.ts';
import type { Outcome } from '../../core/outcome.ts';
import { Outbox } from './message-batcher.ts';
import type { Numbered } from './messages.ts';

const failed: Outcome = {
  kind: 'retry',
  reason: 'deferred',
  error: 'The embedded MQTT broker failed to take the message',
};

/** `post` sends what it is given to the worker. A publish that rejects fails this message, not the process of all. */
export function openPublishDesk(
  publisher: MqttPublisher,
  post: (outcomes: Numbered<Outcome>[]) => void,
): (messages: readonly Numbered<MqttMessage>[]) => void {
  const outbox = new Outbox(post);
  // The worker keeps the deadline; what it no longer waits for, it does not miss.
  const patient = new AbortController().signal;
  return (messages) => {
    for (const [number, message] of messages) {
      void Promise.try(() => publisher.publish(message, patient))
        .catch(() => failed)
        .then((outcome) => outbox.add([number, outcome]));
    }
  };
}
