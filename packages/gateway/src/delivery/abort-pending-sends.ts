import type { Outcome } from '../core/outcome.ts';
import type { Channel, Channels } from '../usecases/ports/index.ts';

const calledOff: Outcome = {
  kind: 'retry',
  reason: 'unreachable',
  error: 'The service was stopped before the provider had answered',
};

/** Sends that are under way when the signal comes end as failed for now, so that their requests still get an answer. */
export function callOffAt(signal: AbortSignal, channels: Channels): Channels {
  const underWay = new Set<() => void>();
  signal.addEventListener('abort', () => {
    for (const callOff of underWay) callOff();
  });
  // A set, and neither AbortSignal.any nor a race with one lasting promise: this is on the way of every send.
  const watch = <Target>(channel: Channel<Target>): Channel<Target> => ({
    send: (notification, targets, options, sendSignal) =>
      new Promise((resolve, reject) => {
        const callOff = (): void => resolve(targets.map(() => calledOff));
        underWay.add(callOff);
        channel.send(notification, targets, options, sendSignal).then(
          (outcomes) => {
            underWay.delete(callOff);
            resolve(outcomes);
          },
          (error: unknown) => {
            underWay.delete(callOff);
            reject(error);
          },
        );
        if (signal.aborted) callOff();
      }),
  });
  return { push: watch(channels.push), email: watch(channels.email), mqtt: watch(channels.mqtt) };
}
