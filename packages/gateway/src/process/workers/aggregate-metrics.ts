// Metrics of several processes in one response: those of the primary and of its workers, aggregated at each scrape.
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';

/** All metrics of one process, as its registry returns them. */
export type MetricSet = MetricObjectWithValues<MetricValue<string>>[];

export class AggregatedMetrics {
  readonly #own: Registry;
  #readOthers = async (): Promise<MetricSet[]> => [];

  constructor(own: Registry) {
    this.#own = own;
  }

  get contentType(): string {
    return this.#own.contentType;
  }

  addFrom(readOthers: () => Promise<MetricSet[]>): void {
    this.#readOthers = readOthers;
  }

  async metrics(): Promise<string> {
    const [own, others] = await Promise.all([this.#own.getMetricsAsJSON(), this.#readOthers()]);
    // The types describe the metrics of one registry; the function accepts those of several.
    const all = [own as MetricSet, ...others] as unknown as Parameters<typeof AggregatorRegistry.aggregate>[0];
    return AggregatorRegistry.aggregate(all).metrics();
  }
}
