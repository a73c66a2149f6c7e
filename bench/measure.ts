// One server under load for some seconds. With a listener, a rate counts only if every notification arrived there.
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { Child } from './child.ts';
import type { Services } from './environment.ts';
import { percentile } from './figures.ts';
import type { Arrivals } from './listener.ts';
import type { LoadResult, LoadTarget, Responses } from './load.ts';
import { processorSeconds, residentMegabytes } from './processes.ts';

export interface Server {
  name: string;
  pids: readonly number[];
  targets: readonly LoadTarget[];
  /** A response without this text is an error, whatever its status. */
  mustContain: string;
  /** Receives every notification; null if the server has no receiver. */
  listener: Child | null;
  /** Programs that work for this server alone. */
  services: Services;
}

export interface Measurement extends Omit<LoadResult, 'responses'> {
  /** Processor time of the server per notification, its delivery included, in microseconds. */
  processorUs: number | null;
  /** The same for each of its services. */
  servicesUs: Record<string, number | null>;
  rssMegabytes: number | null;
  delivery: Delivery | null;
}

/** What the listener received. */
export interface Delivery {
  arrived: number;
  /** Arrivals per second until the last request. */
  perSecond: number;
  /** How long the remaining messages took after the last request. */
  drainMs: number;
  /** From the response to the arrival; 0 if the message arrived first. */
  p50Ms: number;
  p99Ms: number;
  /** Messages that arrived before an earlier one of the same caller. */
  outOfOrder: number;
}

/** How long a listener may take to receive the remaining messages after the last request. */
const drainTimeoutMs = 120_000;

export async function measure(load: Child, server: Server, connections: number, seconds: number): Promise<Measurement> {
  const { name, pids, targets, mustContain, listener, services } = server;
  await listener?.ask<Arrivals>('take');
  const times = () => Promise.all([pids, ...Object.values(services).map((pid) => [pid])].map(processorSeconds));
  const before = await times();
  const { responses, ...result } = await load.ask<LoadResult>({
    ...{ targets, mustContain, connections, seconds, hasIds: listener !== null },
  });
  if (result.errors > 0 || result.requests === 0) {
    throw new Error(
      `${name}: ${result.errors} errors and ${result.requests} successful responses. The first error:\n${result.firstError}`,
    );
  }
  const delivery = listener && (await countDelivered(name, listener, responses, seconds));
  const after = await times();
  const served = delivery?.arrived ?? result.requests;
  const [own = null, ...ofServices] = after.map((end, index) => {
    const start = before[index] ?? null;
    return start === null || end === null ? null : ((end - start) / served) * 1e6;
  });
  return {
    ...result,
    processorUs: own,
    servicesUs: Object.fromEntries(Object.keys(services).map((service, index) => [service, ofServices[index] ?? null])),
    rssMegabytes: await residentMegabytes(pids),
    delivery,
  };
}

async function countDelivered(
  name: string,
  listener: Child,
  responses: readonly Responses[],
  seconds: number,
): Promise<Delivery> {
  const expected = responses.reduce((sum, { ids }) => sum + ids.length, 0);
  const since = performance.now();
  const count = () => listener.ask<number>('count');
  const atEnd = await count();
  const arrived = await eventually(
    `${name}: the listener has received ${expected} messages`,
    drainTimeoutMs,
    count,
    (received) => received >= expected,
  );
  const drainMs = performance.now() - since;
  return { arrived, perSecond: atEnd / seconds, drainMs, ...compare(name, responses, await listener.ask('take')) };
}

function compare(name: string, responses: readonly Responses[], { ids, times }: Arrivals) {
  const places = new Map(ids.map((id, place) => [id, place]));
  const lateness: number[] = [];
  let outOfOrder = 0;
  for (const caller of responses) {
    let newest = -1;
    for (const [index, id] of caller.ids.entries()) {
      const place = places.get(id);
      if (place === undefined) throw new Error(`${name}: the published message ${id} is missing.`);
      if (place < newest) outOfOrder += 1;
      newest = Math.max(newest, place);
      lateness.push(Math.max(0, (times[place] as number) - (caller.times[index] as number)));
    }
  }
  const sorted = Float64Array.from(lateness).sort();
  return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99), outOfOrder };
}
