// What head and workers say to each other over the channel that Node opens between them.
import type { MqttMessage } from '../../channels/mqtt/publisher.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { StoreFailure } from '../../core/store-failure.ts';
import type { MetricSet } from './aggregate-metrics.ts';

/** Publishes and their outcomes are matched by a number that the worker gives. */
export type Numbered<T> = readonly [number: number, value: T];

export type FromWorker =
  | { kind: 'listening'; url: string }
  /** It could not start; the text is for people. */
  | { kind: 'failed'; problem: string }
  | { kind: 'alive' }
  | { kind: 'storeFailures'; failures: readonly StoreFailure[] }
  | { kind: 'metrics'; metrics: MetricSet }
  | { kind: 'publish'; messages: Numbered<MqttMessage>[] };

export type FromHead =
  | { kind: 'areYouAlive' | 'tellMetrics' | 'reload' }
  | { kind: 'stop' }
  | { kind: 'outcomes'; outcomes: Numbered<Outcome>[] };

/** What comes over the channel has no type. */
export function isOfKind<Message extends { kind: string }, Kind extends Message['kind']>(
  message: unknown,
  kind: Kind,
): message is Message & { kind: Kind } {
  return typeof message === 'object' && message !== null && (message as { kind?: unknown }).kind === kind;
}
