import { type Channels, mapChannels, withSend } from '../core/channel.ts';
import { type Outcome, retry } from '../core/outcome.ts';

const interrupted: Outcome = retry('unreachable', 'The service was stopped before the provider had responded');

/** Sends that are in flight when the signal aborts fail with a retry, so that their requests still get a response. */
export function failPendingSendsOn(signal: AbortSignal, channels: Channels): Channels {
  const pending = new Set<() => void>();
  signal.addEventListener('abort', () => {
    for (const fail of pending) fail();
  });
  return mapChannels(channels, (channel) =>
    // A set, and neither AbortSignal.any nor a race with one lasting promise: this is on the path of every send.
    withSend(
      channel,
      (notification, targets, options, sendSignal) =>
        new Promise((resolve, reject) => {
          const fail = (): void => resolve(targets.map(() => interrupted));
          pending.add(fail);
          channel.send(notification, targets, options, sendSignal).then(
            (outcomes) => {
              pending.delete(fail);
              resolve(outcomes);
            },
            (error: unknown) => {
              pending.delete(fail);
              reject(error);
            },
          );
          if (signal.aborted) fail();
        }),
    ),
  );
}
