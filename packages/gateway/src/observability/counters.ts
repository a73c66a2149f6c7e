// Counts in plain numbers, which prom-client reads when it is scraped. Its own counters look their labels up at every
// count, and that would be the dearest thing that a metric does to a request.
import { Counter, type Metric, type Registry } from 'prom-client';

type Labels = Record<string, string>;

export interface Tally {
  count: number;
}

/** Gives a tally for each set of labels; ask once and keep it. */
export function createTallies(
  registry: Registry,
  metric: { name: string; help: string; labelNames: string[] },
): (labels: Labels) => Tally {
  const tallies: (Tally & { labels: Labels })[] = [];
  new Counter({
    ...metric,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, count } of tallies) this.inc(labels, count);
    },
  });
  return (labels) => {
    const tally = { labels, count: 0 };
    tallies.push(tally);
    return tally;
  };
}

export interface Distribution {
  observe(value: number): void;
}

/** As createTallies, for histograms. */
export function createDistributions(
  registry: Registry,
  { name, help, buckets }: { name: string; help: string; buckets: readonly number[] },
): (labels?: Labels) => Distribution {
  const distributions: { labels: Labels; counts: number[]; sum: number }[] = [];
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: distributions.flatMap(({ labels, counts, sum }) => {
      let total = 0;
      const upTo = counts.map((count, index) => {
        total += count;
        return { metricName: `${name}_bucket`, labels: { ...labels, le: buckets[index] ?? '+Inf' }, value: total };
      });
      return [
        ...upTo,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: total },
      ];
    }),
  });
  // A registry asks a metric for no more than this.
  registry.registerMetric({ name, help, type: 'histogram', get } as unknown as Metric<string>);
  return (labels = {}) => {
    const distribution = { labels, counts: Array<number>(buckets.length + 1).fill(0), sum: 0 };
    const { counts } = distribution;
    distributions.push(distribution);
    return {
      observe(value) {
        let index = 0;
        while (index < buckets.length && value > (buckets[index] as number)) index += 1;
        counts[index] = (counts[index] as number) + 1;
        distribution.sum += value;
      },
    };
  };
}
