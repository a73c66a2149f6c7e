// The numbers of several processes as if they were one: the head's and those of its workers, put together when asked for.
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';

/** All that one process counts, as its registry gives it. */
export type MetricSet = MetricObjectWithValues<MetricValue<string>>[];

export class GatheredMetrics {
  readonly #own: Registry;
  #ofOthers = async (): Promise<MetricSet[]> => [];

  constructor(own: Registry) {
    this.#own = own;
  }

  get contentType(): string {
    return this.#own.contentType;
  }

  addFrom(ofOthers: () => Promise<MetricSet[]>): void {
    this.#ofOthers = ofOthers;
  }

  async metrics(): Promise<string> {
    const [own, others] = await Promise.all([this.#own.getMetricsAsJSON(), this.#ofOthers()]);
    // Its types speak of one registry; it takes what any number of them gave.
    const all = [own as MetricSet, ...others] as unknown as Parameters<typeof AggregatorRegistry.aggregate>[0];
    return AggregatorRegistry.aggregate(all).metrics();
  }
}
