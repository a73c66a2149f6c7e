// Optional traces: a span for each request, for its save and for each channel. Nothing here runs unless traces are
// configured.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestListener } from 'node:http';
import { isAccepted, kindOf, type Outcome } from '../../core/outcome.ts';
import type { DeliveryObserver } from '../../delivery/observe.ts';
import type { RequestLog } from '../../http/app.ts';
import { Exporter, type ExporterOptions } from './exporter.ts';
import { createSampler } from './sampler.ts';
import { newSpanClock, newTraceId, Span } from './span.ts';
import { parseTraceParent } from './traceparent.ts';

export interface Traces extends DeliveryObserver, Pick<RequestLog, 'answered'> {
  /** Wraps the API: each request becomes the parent span of its save and sends. */
  aroundRequests(app: RequestListener): RequestListener;
  close(): Promise<void>;
}

export interface TraceOptions extends ExporterOptions {
  /** Sampling ratio from 0 to 1 for traces that start here; for others the caller decides. */
  sampleRatio: number;
}

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);

export function createTraces(options: TraceOptions): Traces {
  const exporter = new Exporter(options);
  const current = new AsyncLocalStorage<Span>();
  const isSampled = createSampler(options.sampleRatio);
  const end = (span: Span): void => exporter.add(span.end());

  /** null: the trace is not sampled. */
  function startRoot(name: string, kind: 'server' | 'client', header?: string | string[]): Span | null {
    const parent = parseTraceParent(header);
    const traceId = parent?.traceId ?? newTraceId();
    if (!(parent?.isSampled ?? isSampled(traceId))) return null;
    return new Span({ traceId, parentId: parent?.spanId ?? null, name, kind, clock: newSpanClock() });
  }

  function startChild(name: string, kind: 'internal' | 'client'): Span | null {
    const parent = current.getStore();
    if (parent === undefined) return null;
    return new Span({ traceId: parent.traceId, parentId: parent.id, name, kind, clock: parent.clock });
  }

  return {
    aroundRequests: (app) => (request, response) => {
      const method = knownMethods.has(request.method ?? '') ? (request.method as string) : '_OTHER';
      const span = startRoot(`${method} /`, 'server', request.headers.traceparent);
      if (span === null) return app(request, response);
      span.set('http.request.method', method);
      response.once('close', () => end(span));
      current.run(span, app, request, response);
    },

    answered({ requestId, status }) {
      const span = current.getStore();
      if (span === undefined) return;
      span.set('http.response.status_code', status).set('tocsin.request_id', requestId);
      span.hasFailed = status >= 500;
    },

    saving({ id }) {
      const request = current.getStore();
      const span = startChild('store.save', 'internal');
      return (result) => {
        if (span === null) return;
        const isDuplicate = result === 'duplicate';
        // A replayed request does not use its new id: the stored response has the original one.
        for (const each of isDuplicate ? [] : [span, request]) each?.set('tocsin.notification_id', id);
        span.hasFailed = result !== 'stored' && !isDuplicate;
        end(span.set('tocsin.outcome', result));
      };
    },

    sending(channel, attempt, { id }) {
      // A redelivery may run in the async context of an unrelated request that woke it.
      const name = `${channel}.send`;
      const span = attempt === 'first' ? startChild(name, 'client') : startRoot(name, 'client');
      span?.set('tocsin.channel', channel).set('tocsin.notification_id', id);
      return (outcomes) => {
        if (span === null) return;
        setOutcomes(span, outcomes);
        end(span);
      };
    },

    close: () => exporter.close(),
  };
}

function setOutcomes(span: Span, outcomes: readonly Outcome[]): void {
  for (const [kind, { length }] of Map.groupBy(outcomes, kindOf)) {
    span.set(`tocsin.outcome.${kind}`, length);
  }
  span.hasFailed = outcomes.length === 0 || !outcomes.every(isAccepted);
}
