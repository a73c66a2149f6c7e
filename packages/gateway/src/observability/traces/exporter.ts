// Exports finished spans to a collector, as OTLP over HTTP with JSON. If the collector is down, spans are dropped; requests
// are not affected.
import type { OtlpSpan } from './span.ts';

export interface ExporterOptions {
  url: URL;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  version: string;
  onBatch?: OnSpans;
  /** Called on changes only; null: the collector accepts spans again. */
  onStateChange?: (reason: string | null) => void;
}

export type OnSpans = (result: 'exported' | 'dropped', count: number) => void;

const maxWaiting = 4096;
const maxBatch = 512;
const gatherMs = 1000;
const timeoutMs = 10_000;
/** Time that a shutdown waits for the last spans. */
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

  /** Sends pending spans; those that are not accepted within the timeout are lost. */
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

  /** One batch at a time, so that a slow collector is not overloaded. */
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

  /** null: accepted; otherwise the error, without text from the collector. */
  async #post(spans: OtlpSpan[]): Promise<string | null> {
    const { url, headers } = this.#options;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify(this.#envelope(spans)),
        // No redirects: the headers may contain a token for this collector only.
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      await response.body?.cancel();
      return response.ok ? null : `the collector responded with ${response.status}`;
    } catch (error) {
      const { name, cause } = error as Error & { cause?: { code?: string } };
      return name === 'TimeoutError'
        ? 'the collector did not respond in time'
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
