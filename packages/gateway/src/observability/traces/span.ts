// One span of a trace, and its OTLP JSON encoding.
import { randomUUID } from 'node:crypto';
import type { OutcomeKind } from '../../core/outcome.ts';

/** All attributes: no text from callers gets into a trace. */
export type Attribute =
  | 'http.request.method'
  | 'http.response.status_code'
  | 'tocsin.request_id'
  | 'tocsin.notification_id'
  | 'tocsin.channel'
  | 'tocsin.outcome'
  | `tocsin.outcome.${OutcomeKind}`;

/** Numbers of the OTLP enumeration. */
export const spanKinds = { internal: 1, server: 2, client: 3 } as const;

export interface SpanStart {
  traceId: string;
  /** null: the root span. */
  parentId: string | null;
  name: string;
  kind: keyof typeof spanKinds;
  /** Reference time; one per request, so that its spans are ordered to the microsecond. */
  clock: SpanClock;
}

export interface SpanClock {
  wallMs: number;
  atMs: number;
}

export interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: Attribute; value: { stringValue: string } | { intValue: string } }[];
  status: { code?: 2 };
}

export function newSpanClock(): SpanClock {
  return { wallMs: Date.now(), atMs: performance.now() };
}

export function newTraceId(): string {
  return randomUUID().replaceAll('-', '');
}

/** UUIDs come from a pool and cost a tenth of as many random bytes; their second half is random but for two bits. */
function newSpanId(): string {
  return randomUUID().slice(19).replace('-', '');
}

export class Span {
  readonly traceId: string;
  readonly id = newSpanId();
  readonly clock: SpanClock;
  hasFailed = false;
  readonly #start: SpanStart;
  readonly #startedAt = performance.now();
  readonly #attributes = new Map<Attribute, string | number>();

  constructor(start: SpanStart) {
    this.traceId = start.traceId;
    this.clock = start.clock;
    this.#start = start;
  }

  set(name: Attribute, value: string | number): this {
    this.#attributes.set(name, value);
    return this;
  }

  /** Encodes the span, with the current time as its end. */
  end(): OtlpSpan {
    const { traceId, parentId, name, kind } = this.#start;
    return {
      traceId,
      spanId: this.id,
      ...(parentId !== null && { parentSpanId: parentId }),
      name,
      kind: spanKinds[kind],
      startTimeUnixNano: this.#nanos(this.#startedAt),
      endTimeUnixNano: this.#nanos(performance.now()),
      attributes: [...this.#attributes].map(([key, value]) => ({
        key,
        // 64-bit numbers are strings in OTLP's JSON.
        value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
      })),
      status: this.hasFailed ? { code: 2 } : {},
    };
  }

  /** In two parts, because a double cannot represent current times in nanoseconds. */
  #nanos(atMs: number): string {
    const micros = Math.round((atMs - this.clock.atMs) * 1000);
    return String((BigInt(this.clock.wallMs) * 1000n + BigInt(micros)) * 1000n);
  }
}
