// Counters and histograms in plain numbers, which prom-client reads at each scrape. prom-client's own counters look up their
// labels at every increment, which is the most expensive part of a counter; here it is done once.
import { Counter, type Metric, type Registry } from 'prom-client';

type Labels = Record<string, string>;

export interface FastCounter {
  count: number;
}

/** Returns a function that creates the counter of one set of labels; keep the counter. */
export function createCounters(
  registry: Registry,
  metric: { name: string; help: string; labelNames: string[] },
): (labels: Labels) => FastCounter {
  const counters: (FastCounter & { labels: Labels })[] = [];
  new Counter({
    ...metric,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, count } of counters) this.inc(labels, count);
    },
  });
  return (labels) => {
    const counter = { labels, count: 0 };
    counters.push(counter);
    return counter;
  };
}

export interface FastHistogram {
  observe(value: number): void;
}

/** Like createCounters, for histograms. */
export function createHistograms(
  registry: Registry,
  { name, help, buckets }: { name: string; help: string; buckets: readonly number[] },
): (labels?: Labels) => FastHistogram {
  const histograms: { labels: Labels; counts: number[]; sum: number }[] = [];
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: histograms.flatMap(({ labels, counts, sum }) => {
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
  // The registry uses only these members of a metric.
  registry.registerMetric({ name, help, type: 'histogram', get } as unknown as Metric<string>);
  return (labels = {}) => {
    const histogram = { labels, counts: Array<number>(buckets.length + 1).fill(0), sum: 0 };
    const { counts } = histogram;
    histograms.push(histogram);
    return {
      observe(value) {
        let index = 0;
        while (index < buckets.length && value > (buckets[index] as number)) index += 1;
        counts[index] = (counts[index] as number) + 1;
        histogram.sum += value;
      },
    };
  };
}
