// Combines log, metrics and traces behind one observer for each part of the service.
import type { RequestListener } from 'node:http';
import type { BrokerEvent } from '../channels/mqtt/embedded/events.ts';
import type { TraceConfig } from '../config/traces.ts';
import type { OnBreakerState } from '../core/channel.ts';
import type { DeliveryObserver } from '../delivery/observe.ts';
import type { RequestLog } from '../http/app.ts';
import type { OnDisconnected } from '../http/connection-guard.ts';
import type { OnRefused } from '../http/server.ts';
import type { Log } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import type { Traces } from './traces/index.ts';

export interface Observability {
  metrics: Metrics;
  requestLog: RequestLog;
  onRefused: OnRefused;
  onDisconnected: OnDisconnected;
  onBrokerEvent(event: BrokerEvent): void;
  onBreakerState: OnBreakerState;
  deliveryObserver: DeliveryObserver;
  aroundRequests(app: RequestListener): RequestListener;
  close(): Promise<void>;
}

export async function createObservability(
  { traces: config }: { traces: TraceConfig | null },
  version: string,
  log: Log,
): Promise<Observability> {
  const metrics = createMetrics(version);
  const traces = config && (await openTraces(config, version, metrics, log));
  return {
    metrics,
    requestLog: {
      answered(line) {
        metrics.answered(line);
        traces?.answered(line);
        log.answered(line);
      },
      failed: log.failed,
    },
    onRefused(line) {
      metrics.refused(line);
      log.refused(line);
    },
    onDisconnected(event) {
      metrics.disconnected(event);
      log.disconnected(event);
    },
    onBrokerEvent(event) {
      metrics.brokerEvent(event);
      log.brokerEvent(event);
    },
    onBreakerState(...change) {
      metrics.onBreakerState(...change);
      log.guardState(...change);
    },
    deliveryObserver: traces === null ? metrics : both(metrics, traces),
    aroundRequests: (app) => traces?.aroundRequests(app) ?? app,
    close: async () => traces?.close(),
  };
}

async function openTraces(config: TraceConfig, version: string, { onSpans }: Metrics, log: Log): Promise<Traces> {
  const { createTraces } = await import('./traces/index.ts');
  return createTraces({ ...config, version, onBatch: onSpans, onStateChange: log.tracesState });
}

function both(first: DeliveryObserver, second: DeliveryObserver): DeliveryObserver {
  return {
    saving: (...args) => inOrder(first.saving(...args), second.saving(...args)),
    sending: (...args) => inOrder(first.sending(...args), second.sending(...args)),
  };
}

function inOrder<T>(first: (value: T) => void, second: (value: T) => void): (value: T) => void {
  return (value) => {
    first(value);
    second(value);
  };
}
