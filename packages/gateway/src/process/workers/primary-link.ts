// The worker's side: what it tells the head, and what the head asks of it.
import cluster from 'node:cluster';
import type { StoreFailure } from '../../core/store-failure.ts';
import type { MetricSet } from './aggregate-metrics.ts';
import { type FromHead, type FromWorker, isOfKind } from './messages.ts';
import { RemotePublisher } from './remote-publisher.ts';

export interface HeadLink {
  /** The embedded broker, which lives in the head. */
  publisher: RemotePublisher;
  /** What the head may ask for once this process serves. */
  serve(parts: { metrics(): Promise<MetricSet>; reload(): void }): void;
  /** Resolves when the head asks for the end, or has ended itself. */
  stopAsked: Promise<void>;
  /** Tells the head, which answers for readiness, what the store failed to do for callers. */
  storeFailures(failures: readonly StoreFailure[]): void;
  listening(url: string): Promise<void>;
  /** Resolves when the head has been told. */
  failed(problem: string): Promise<void>;
}

export function linkToHead(): HeadLink {
  const publisher = new RemotePublisher((messages) => void post({ kind: 'publish', messages }));
  const stopAsked = Promise.withResolvers<void>();
  process.on('message', (message: unknown) => {
    if (isOfKind<FromHead, 'outcomes'>(message, 'outcomes')) publisher.take(message.outcomes);
    else if (isOfKind<FromHead, 'areYouAlive'>(message, 'areYouAlive')) void post({ kind: 'alive' });
    else if (isOfKind<FromHead, 'stop'>(message, 'stop')) stopAsked.resolve();
  });
  // A message of Node itself, such as the request for the port, fails like this if the head ends at that moment. Node emits
  // it on the worker too, and throws if that has no listener.
  cluster.worker?.on('error', () => stopAsked.resolve());
  cluster.worker?.once('disconnect', () => {
    // Otherwise Node would end this process at once, in the middle of its requests.
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
    publisher.giveUp();
    stopAsked.resolve();
  });
  return {
    publisher,
    serve({ metrics, reload }) {
      process.on('message', (message: unknown) => {
        if (isOfKind<FromHead, 'reload'>(message, 'reload')) reload();
        else if (isOfKind<FromHead, 'tellMetrics'>(message, 'tellMetrics')) {
          void metrics().then((values) => post({ kind: 'metrics', metrics: values }));
        }
      });
    },
    stopAsked: stopAsked.promise,
    storeFailures: (failures) => void post({ kind: 'storeFailures', failures }),
    listening: (url) => post({ kind: 'listening', url }),
    failed: (problem) => post({ kind: 'failed', problem }),
  };
}

/** A head that is gone is noticed elsewhere. */
function post(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, {}, () => resolve());
  });
}
