// Messages between the primary and its workers, over the IPC channel of node:cluster.
import type { MqttMessage } from '../../channels/mqtt/publisher.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { StoreFailure } from '../../core/store-failure.ts';
import type { MetricSet } from './aggregate-metrics.ts';

/** Correlates a publish with its outcome by a number that the worker assigns. */
export type Numbered<T> = readonly [number: number, value: T];

export type FromWorker =
  | { kind: 'listening'; url: string }
  /** The worker could not start; `problem` is shown to the operator. */
  | { kind: 'failed'; problem: string }
  | { kind: 'alive' }
  | { kind: 'storeFailures'; failures: readonly StoreFailure[] }
  | { kind: 'metrics'; metrics: MetricSet }
  | { kind: 'publish'; messages: Numbered<MqttMessage>[] };

export type FromPrimary =
  | { kind: 'ping' | 'requestMetrics' | 'reload' }
  | { kind: 'stop' }
  | { kind: 'outcomes'; outcomes: Numbered<Outcome>[] };

/** Checks the kind of an untyped IPC message. */
export function isOfKind<Message extends { kind: string }, Kind extends Message['kind']>(
  message: unknown,
  kind: Kind,
): message is Message & { kind: Kind } {
  return typeof message === 'object' && message !== null && (message as { kind?: unknown }).kind === kind;
}
