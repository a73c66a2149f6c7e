// Reads the metrics as Prometheus does.
import type { GatewayProcess } from './gateway-process.ts';

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export class Scrape {
  readonly text: string;
  readonly samples: Sample[];

  constructor(text: string) {
    this.text = text;
    this.samples = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map(parseSample);
  }

  /** The sum of all samples that have these labels; undefined when there is none. */
  sum(name: string, labels: Record<string, string | number> = {}): number | undefined {
    const found = this.samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === String(value)),
    );
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }
}

export function fetchMetrics(gateway: GatewayProcess, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(new URL('/metrics', gateway.line.console), { headers });
}

export async function scrape(gateway: GatewayProcess): Promise<Scrape> {
  const response = await fetchMetrics(gateway);
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}: ${await response.text()}`);
  return new Scrape(await response.text());
}

function parseSample(line: string): Sample {
  const [, name, labels = '', value] = /^([a-z_\d]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
  if (name === undefined) throw new Error(`This is not a sample: ${line}`);
  const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/gi)].map(([, label = '', text = '']) => [label, text]);
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}
