// Prometheus metrics. Every label has a short list of values that are written in the source, so nothing that a caller
// sent, and no id, can become a label.
import type { ErrorCode } from '@tocsin/contract';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { BrokerEvent } from '../channels/mqtt/embedded/events.ts';
import { channels } from '../channels/registry.ts';
import { breakersOf, type OnBreakerState } from '../core/channel.ts';
import { kindOf, outcomeKinds } from '../core/outcome.ts';
import type { Attempt, DeliveryObserver, SaveResult } from '../delivery/observe.ts';
import type { RequestLog } from '../http/app.ts';
import type { DisconnectReason, OnDisconnected } from '../http/connection-guard.ts';
import type { OnRefused } from '../http/server.ts';
import type { OnBatch } from '../store/schema/database.ts';
import type { DeliveryRepository, WaitingTotals } from '../usecases/ports/index.ts';
import { createCounters, createHistograms } from './counters.ts';
import type { OnSpans } from './traces/exporter.ts';

export interface Metrics extends DeliveryObserver, Pick<RequestLog, 'answered'> {
  onBreakerState: OnBreakerState;
  refused: OnRefused;
  disconnected: OnDisconnected;
  /** One per process; several are combined with AggregatorRegistry. */
  readonly registry: Registry;
  onBatch: OnBatch;
  onSpans: OnSpans;
  brokerEvent(event: BrokerEvent): void;
  /** Makes every scrape also read the totals of waiting and dead deliveries. */
  watchDeliveries(deliveries: Pick<DeliveryRepository, 'totals'>): void;
}

/** Timeout of a scrape for reading the store; after it the metrics of the store are omitted. */
const storeDeadlineMs = 1000;

const breakers = channels.flatMap((channel) => Object.keys(breakersOf(channel)));
const breakerStates = { closed: 0, half_open: 1, open: 2 } as const;
const saveResults: readonly SaveResult[] = [
  'stored',
  'duplicate',
  'encryption_key_missing',
  'store_unavailable',
  'failed',
];
const disconnectReasons: readonly DisconnectReason[] = ['unread_response', 'pipelining', 'too_many_connections'];
const observedChannels = channels.flatMap(({ name, observedNames }) => observedNames ?? [name]);

export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({ name: 'tocsin_info', help: 'Always 1.', labelNames: ['version'], registers, aggregator: 'first' })
    .labels(version)
    .set(1);

  return {
    registry,
    ...requestMetrics(registry),
    ...deliveryMetrics(registry),
    ...breakerMetrics(registers),
    ...storeMetrics(registry),
    ...brokerMetrics(registry),
    ...traceMetrics(registry),
  };
}

function requestMetrics(registry: Registry): Pick<Metrics, 'answered' | 'refused' | 'disconnected'> {
  const requests = createCounters(registry, {
    name: 'tocsin_http_requests_total',
    help: 'Responses of the public API, by status and, for errors, by code.',
    labelNames: ['status', 'code'],
  });
  const durations = createHistograms(registry, {
    name: 'tocsin_http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const disconnects = createCounters(registry, {
    name: 'tocsin_http_disconnects_total',
    help: 'Connections closed because of the behaviour of their client, by reason.',
    labelNames: ['reason'],
  });
  const disconnectsOf = byName(disconnectReasons, (reason) => disconnects({ reason }));
  const requestsOf = memoize((status: number, code: ErrorCode | 'none') => requests({ status: String(status), code }));
  const durationsOf = memoize((status: number, method: 'POST' | 'other') =>
    durations({ method, status: String(status) }),
  );
  return {
    answered({ method, status, code, ms }) {
      requestsOf(status, code ?? 'none').count += 1;
      durationsOf(status, method === 'POST' ? 'POST' : 'other').observe(ms / 1000);
    },
    refused({ status, code }) {
      requestsOf(status, code).count += 1;
    },
    disconnected({ reason }) {
      disconnectsOf[reason].count += 1;
    },
  };
}

function deliveryMetrics(registry: Registry): DeliveryObserver {
  const notifications = createCounters(registry, {
    name: 'tocsin_notifications_total',
    help: 'Accepted notifications, by result of storing them.',
    labelNames: ['result'],
  });
  const outcomes = createCounters(registry, {
    name: 'tocsin_channel_outcomes_total',
    help: 'Delivery attempts to one target, by outcome.',
    labelNames: ['channel', 'kind', 'attempt'],
  });
  const saved = byName(saveResults, (result) => notifications({ result }));
  const save = (result: SaveResult): void => {
    saved[result].count += 1;
  };
  const sentOver = (attempt: Attempt) =>
    byName(observedChannels, (channel): ReturnType<DeliveryObserver['sending']> => {
      const kinds = byName(outcomeKinds, (kind) => outcomes({ channel, kind, attempt }));
      return (results) => {
        for (const outcome of results) kinds[kindOf(outcome)].count += 1;
      };
    });
  const sent = { first: sentOver('first'), redelivery: sentOver('redelivery') };
  return { saving: () => save, sending: (channel, attempt) => sent[attempt][channel] ?? ignore };
}

function ignore(): void {
  // Not a channel of the registry, which names every value of the label.
}

function breakerMetrics(registers: Registry[]): Pick<Metrics, 'onBreakerState'> {
  const states = new Gauge({
    name: 'tocsin_breaker_state',
    help: 'State of the circuit breaker. 0: closed. 1: half open, one send probes the provider. 2: open, sends fail at once.',
    labelNames: ['guard'],
    aggregator: 'max',
    registers,
  });
  const gauges = byName(breakers, (breaker) => states.labels(breaker));
  for (const gauge of Object.values(gauges)) gauge.set(breakerStates.closed);
  return { onBreakerState: (breaker, state) => gauges[breaker]?.set(breakerStates[state]) };
}

function storeMetrics(registry: Registry): Pick<Metrics, 'onBatch' | 'watchDeliveries'> {
  const size = createHistograms(registry, {
    name: 'tocsin_store_batch_size',
    help: 'Number of writes per commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
  })();
  const duration = createHistograms(registry, {
    name: 'tocsin_store_commit_duration_seconds',
    help: 'Duration of a commit.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  })();
  let readTotals = async (): Promise<WaitingTotals | null> => null;
  // All processes on one store report the same values.
  const shared = { registers: [registry], aggregator: 'max' as const };
  const deliveries = new Gauge({
    ...shared,
    name: 'tocsin_redeliveries',
    help: 'Deliveries waiting for a retry (waiting) or with retries exhausted (dead). Absent if the store does not respond.',
    labelNames: ['state'],
    async collect() {
      const totals = await readTotals();
      deliveries.reset();
      if (totals === null) return;
      deliveries.set({ state: 'waiting' }, totals.waiting);
      deliveries.set({ state: 'dead' }, totals.dead);
    },
  });
  const oldest = new Gauge({
    ...shared,
    name: 'tocsin_redelivery_oldest_age_seconds',
    help: 'Age of the oldest notification waiting for a retry; 0 if there is none. Absent if the store does not respond.',
    async collect() {
      const totals = await readTotals();
      if (totals === null) oldest.remove();
      else oldest.set(totals.oldestWaitingAt === null ? 0 : Math.max(0, Date.now() - totals.oldestWaitingAt) / 1000);
    },
  });
  return {
    onBatch(count, ms) {
      size.observe(count);
      duration.observe(ms / 1000);
    },
    watchDeliveries: (deliveries) => {
      readTotals = shareRead(() => deliveries.totals());
    },
  };
}

function brokerMetrics(registry: Registry): Pick<Metrics, 'brokerEvent'> {
  const connections = new Gauge({
    name: 'tocsin_mqtt_connections',
    help: 'Devices connected to the embedded broker.',
    registers: [registry],
  });
  const dropped = createCounters(registry, {
    name: 'tocsin_mqtt_dropped_total',
    help: 'Messages dropped from a queue of the embedded broker before delivery, by reason.',
    labelNames: ['reason'],
  });
  const droppedFor = byName(['queue_full', 'notification_deleted'], (reason) => dropped({ reason }));
  return {
    brokerEvent(event) {
      if (event.kind === 'signed_in') connections.inc();
      else if (event.kind === 'disconnected') connections.dec();
      else if (event.kind === 'messages_dropped') droppedFor[event.reason].count += event.count;
    },
  };
}

function traceMetrics(registry: Registry): Pick<Metrics, 'onSpans'> {
  const spans = createCounters(registry, {
    name: 'tocsin_trace_spans_total',
    help: 'Spans that the collector accepted (exported) or that were lost (dropped).',
    labelNames: ['result'],
  });
  const results = byName(['exported', 'dropped'], (result) => spans({ result }));
  return {
    onSpans(result, count) {
      results[result].count += count;
    },
  };
}

function byName<Name extends string, T>(names: readonly Name[], make: (name: Name) => T): Record<Name, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>;
}

/** Creates the labels once per pair instead of per request. */
function memoize<Name extends string, T>(make: (status: number, name: Name) => T): (status: number, name: Name) => T {
  const made: Record<number, Partial<Record<Name, T>>> = {};
  return (status, name) => {
    made[status] ??= {};
    const known = made[status][name] ?? make(status, name);
    made[status][name] = known;
    return known;
  };
}

/** Concurrent calls share one read; null if it fails or exceeds the timeout. */
function shareRead<T>(read: () => Promise<T>): () => Promise<T | null> {
  let pending: Promise<T | null> | null = null;
  return async () => {
    pending ??= read()
      .catch(() => null)
      .finally(() => {
        pending = null;
      });
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(late.resolve, storeDeadlineMs, null);
    try {
      return await Promise.race([pending, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  };
}
