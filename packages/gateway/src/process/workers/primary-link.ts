// The worker's end of the IPC channel to the primary.
import cluster from 'node:cluster';
import type { StoreFailure } from '../../core/store-failure.ts';
import type { MetricSet } from './aggregate-metrics.ts';
import { type FromPrimary, type FromWorker, isOfKind } from './messages.ts';
import { RemotePublisher } from './remote-publisher.ts';

export interface PrimaryLink {
  /** Publishes to the embedded broker, which runs in the primary. */
  publisher: RemotePublisher;
  /** Handles requests of the primary once this process serves. */
  serve(handlers: { metrics(): Promise<MetricSet>; reload(): void }): void;
  /** Resolves when the primary requests a stop, or has exited. */
  stopAsked: Promise<void>;
  /** Reports store failures to the primary, which serves the readiness probe. */
  storeFailures(failures: readonly StoreFailure[]): void;
  listening(url: string): Promise<void>;
  /** Resolves when the message is sent. */
  failed(problem: string): Promise<void>;
}

export function linkToPrimary(): PrimaryLink {
  const publisher = new RemotePublisher((messages) => void post({ kind: 'publish', messages }));
  const stopAsked = Promise.withResolvers<void>();
  process.on('message', (message: unknown) => {
    if (isOfKind<FromPrimary, 'outcomes'>(message, 'outcomes')) publisher.settle(message.outcomes);
    else if (isOfKind<FromPrimary, 'ping'>(message, 'ping')) void post({ kind: 'alive' });
    else if (isOfKind<FromPrimary, 'stop'>(message, 'stop')) stopAsked.resolve();
  });
  // A message of Node itself, such as the request for the port, fails like this if the primary exits at that moment. Node emits
  // it on the worker too, and throws if that has no listener.
  cluster.worker?.on('error', () => stopAsked.resolve());
  cluster.worker?.once('disconnect', () => {
    // Otherwise Node would end this process at once, with requests in flight.
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
    publisher.disconnect();
    stopAsked.resolve();
  });
  return {
    publisher,
    serve({ metrics, reload }) {
      process.on('message', (message: unknown) => {
        if (isOfKind<FromPrimary, 'reload'>(message, 'reload')) reload();
        else if (isOfKind<FromPrimary, 'requestMetrics'>(message, 'requestMetrics')) {
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

/** Does not reject: the `disconnect` event reports a primary that has exited. */
function post(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, {}, () => resolve());
  });
}
