// Takes finished spans to a collector, as OTLP over HTTP with JSON. A collector that is away costs spans, never requests.
import type { OtlpSpan } from './span.ts';

export interface ExporterOptions {
  url: URL;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  version: string;
  onBatch?: OnSpans;
  /** Told of changes only; without a reason the collector takes spans again. */
  onStateChange?: (reason: string | null) => void;
}

export type OnSpans = (result: 'exported' | 'dropped', count: number) => void;

const maxWaiting = 4096;
const maxBatch = 512;
const gatherMs = 1000;
const timeoutMs = 10_000;
/** How long a stop waits for the last spans. */
const flushMs = 1000;

export class Exporter {
  readonly #options: ExporterOptions;
  #waiting: OtlpSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> | null = null;
  #problem: string | null = null;

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  add(span: OtlpSpan): void {
    if (this.#waiting.length >= maxWaiting) {
      this.#options.onBatch?.('dropped', 1);
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= maxBatch) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), gatherMs).unref();
  }

  /** Sends what waits; whatever is not taken within a moment is lost. */
  async close(): Promise<void> {
    const over = AbortSignal.timeout(flushMs);
    const late = new Promise<void>((resolve) => over.addEventListener('abort', () => resolve(), { once: true }));
    const flushed = (async () => {
      while ((this.#waiting.length > 0 || this.#underWay !== null) && !over.aborted) {
        this.#send();
        await this.#underWay;
      }
    })();
    await Promise.race([flushed, late]);
    clearTimeout(this.#timer);
  }

  /** One batch at a time: a slow collector is not given more than it takes. */
  #send(): void {
    if (this.#underWay !== null) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting.splice(0, maxBatch);
    if (batch.length === 0) return;
    this.#underWay = this.#post(batch).then((problem) => {
      this.#underWay = null;
      this.#options.onBatch?.(problem === null ? 'exported' : 'dropped', batch.length);
      if (problem !== this.#problem) this.#options.onStateChange?.(problem);
      this.#problem = problem;
      if (this.#waiting.length >= maxBatch) this.#send();
      else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#send(), gatherMs).unref();
    });
  }

  /** null when the collector took it; otherwise what went wrong, without what the collector said. */
  async #post(spans: OtlpSpan[]): Promise<string | null> {
    const { url, headers } = this.#options;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify(this.#envelope(spans)),
        // The headers may hold a token for this collector and for nobody else.
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      await response.body?.cancel();
      return response.ok ? null : `the collector answered ${response.status}`;
    } catch (error) {
      const { name, cause } = error as Error & { cause?: { code?: string } };
      return name === 'TimeoutError'
        ? 'the collector did not answer in time'
        : `no connection (${cause?.code ?? name})`;
    }
  }

  #envelope(spans: OtlpSpan[]): object {
    const { serviceName, version } = this.#options;
    const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const resource = { attributes: [text('service.name', serviceName), text('service.version', version)] };
    return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'tocsin', version }, spans }] }] };
  }
}
