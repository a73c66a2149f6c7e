// What Prometheus is told. Every label has a short list of values that are written in the source: nothing that a caller
// sent, and no id, can become one.
import type { ErrorCode } from '@tocsin/contract';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { BrokerEvent } from '../channels/mqtt/embedded/events.ts';
import type { ChannelsObserver, GuardName } from '../channels/registry.ts';
import { kindOf, outcomeKinds } from '../core/outcome.ts';
import type { Attempt, DeliveryObserver, ObservedChannel, SaveResult } from '../delivery/observe.ts';
import type { RequestLog } from '../http/app.ts';
import type { DisconnectReason, OnDisconnected } from '../http/connection-guard.ts';
import type { OnRefused } from '../http/server.ts';
import type { OnBatch } from '../store/schema/database.ts';
import type { DeliveryRepository, WaitingTotals } from '../usecases/ports/index.ts';
import { createDistributions, createTallies } from './counters.ts';
import type { OnSpans } from './traces/exporter.ts';

export interface Metrics extends DeliveryObserver, ChannelsObserver, Pick<RequestLog, 'answered'> {
  refused: OnRefused;
  disconnected: OnDisconnected;
  /** One for each process; several are put together with AggregatorRegistry. */
  readonly registry: Registry;
  onBatch: OnBatch;
  onSpans: OnSpans;
  brokerEvent(event: BrokerEvent): void;
  /** From now on a scrape also asks this store what waits. */
  watchDeliveries(deliveries: Pick<DeliveryRepository, 'totals'>): void;
}

/** A scrape waits no longer for a store that hangs; the numbers that it would have given are left out. */
const storeDeadlineMs = 1000;

const guards: readonly GuardName[] = ['mqtt', 'email', 'webpush', 'fcm', 'apns'];
const guardStates = { closed: 0, half_open: 1, open: 2 } as const;
const saveResults: readonly SaveResult[] = [
  'stored',
  'duplicate',
  'encryption_key_missing',
  'store_unavailable',
  'failed',
];
const disconnectReasons: readonly DisconnectReason[] = ['unread_response', 'pipelining', 'too_many_connections'];
const channels: readonly ObservedChannel[] = ['push', 'email', 'mqtt', 'mqtt_custom'];

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
    ...guardMetrics(registers),
    ...storeMetrics(registry),
    ...brokerMetrics(registry),
    ...traceMetrics(registry),
  };
}

function requestMetrics(registry: Registry): Pick<Metrics, 'answered' | 'refused' | 'disconnected'> {
  const requests = createTallies(registry, {
    name: 'tocsin_http_requests_total',
    help: 'Answers of the public API, by status and, for refusals, by code.',
    labelNames: ['status', 'code'],
  });
  const durations = createDistributions(registry, {
    name: 'tocsin_http_request_duration_seconds',
    help: 'From the headers of a request to its answer.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const disconnects = createTallies(registry, {
    name: 'tocsin_http_disconnects_total',
    help: 'Connections that were closed because of what their client did, by reason.',
    labelNames: ['reason'],
  });
  const disconnectsOf = byName(disconnectReasons, (reason) => disconnects({ reason }));
  const requestsOf = remember((status: number, code: ErrorCode | 'none') => requests({ status: String(status), code }));
  const durationsOf = remember((status: number, method: 'POST' | 'other') =>
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
  const notifications = createTallies(registry, {
    name: 'tocsin_notifications_total',
    help: 'Notifications that were to be stored, by what became of it.',
    labelNames: ['result'],
  });
  const outcomes = createTallies(registry, {
    name: 'tocsin_channel_outcomes_total',
    help: 'Attempts to reach one target, by how they ended.',
    labelNames: ['channel', 'kind', 'attempt'],
  });
  const saved = byName(saveResults, (result) => notifications({ result }));
  const save = (result: SaveResult): void => {
    saved[result].count += 1;
  };
  const sentOver = (attempt: Attempt) =>
    byName(channels, (channel): ReturnType<DeliveryObserver['sending']> => {
      const kinds = byName(outcomeKinds, (kind) => outcomes({ channel, kind, attempt }));
      return (results) => {
        for (const outcome of results) kinds[kindOf(outcome)].count += 1;
      };
    });
  const sent = { first: sentOver('first'), redelivery: sentOver('redelivery') };
  return { saving: () => save, sending: (channel, attempt) => sent[attempt][channel] };
}

function guardMetrics(registers: Registry[]): ChannelsObserver {
  const states = new Gauge({
    name: 'tocsin_breaker_state',
    help: '0: closed, all is well. 1: half open, one send tries. 2: open, sends fail at once.',
    labelNames: ['guard'],
    aggregator: 'max',
    registers,
  });
  const gauges = byName(guards, (guard) => states.labels(guard));
  for (const gauge of Object.values(gauges)) gauge.set(guardStates.closed);
  return { onGuardState: (guard, state) => gauges[guard].set(guardStates[state]) };
}

function storeMetrics(registry: Registry): Pick<Metrics, 'onBatch' | 'watchDeliveries'> {
  const size = createDistributions(registry, {
    name: 'tocsin_store_batch_size',
    help: 'Writes that shared one commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
  })();
  const duration = createDistributions(registry, {
    name: 'tocsin_store_commit_duration_seconds',
    help: 'From handing a batch to the database to its answer.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  })();
  let readTotals = async (): Promise<WaitingTotals | null> => null;
  // All processes on one store say the same.
  const shared = { registers: [registry], aggregator: 'max' as const };
  const deliveries = new Gauge({
    ...shared,
    name: 'tocsin_redeliveries',
    help: 'Targets that are still to be told (waiting) or were given up (dead). Missing when the store does not answer.',
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
    help: 'Age of the notification that waits longest; 0 when nothing waits. Missing when the store does not answer.',
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
      readTotals = onceAtATime(() => deliveries.totals());
    },
  };
}

function brokerMetrics(registry: Registry): Pick<Metrics, 'brokerEvent'> {
  const connections = new Gauge({
    name: 'tocsin_mqtt_connections',
    help: 'Devices that are signed in to the embedded broker.',
    registers: [registry],
  });
  const dropped = createTallies(registry, {
    name: 'tocsin_mqtt_dropped_total',
    help: 'Messages that left a queue of the embedded broker before a device took them, by reason.',
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
  const spans = createTallies(registry, {
    name: 'tocsin_trace_spans_total',
    help: 'Spans that a collector took (exported) or that were lost (dropped).',
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

/** Labels are put together once for each pair, and not for each request. */
function remember<Name extends string, T>(make: (status: number, name: Name) => T): (status: number, name: Name) => T {
  const made: Record<number, Partial<Record<Name, T>>> = {};
  return (status, name) => {
    made[status] ??= {};
    const known = made[status][name] ?? make(status, name);
    made[status][name] = known;
    return known;
  };
}

/** Whoever asks while a question is open gets its answer; null when that fails or takes too long. */
function onceAtATime<T>(ask: () => Promise<T>): () => Promise<T | null> {
  let pending: Promise<T | null> | null = null;
  return async () => {
    pending ??= ask()
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
