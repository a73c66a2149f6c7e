// A caller that sends one request every few milliseconds, whether or not it has got a response to the previous one.
import { setTimeout as delay } from 'node:timers/promises';
import { Connections } from './connections.ts';

const requestEveryMs = 10;

export interface Measured {
  statuses: number[];
  times: number[];
}

/** Sends requests until the signal aborts. */
export async function measureRequests(target: { api: string; key: string }, signal: AbortSignal): Promise<Measured> {
  const connections = new Connections(target, 16);
  const requests: Promise<{ status: number; ms: number }>[] = [];
  const start = performance.now();
  while (!signal.aborted) {
    requests.push(timed(connections));
    await delay(Math.max(0, start + requests.length * requestEveryMs - performance.now()));
  }
  const answers = await Promise.all(requests);
  connections.close();
  return { statuses: answers.map(({ status }) => status), times: answers.map(({ ms }) => ms) };
}

export function describeTimes(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => sorted[Math.ceil(sorted.length * share) - 1]?.toFixed(1));
  return `${times.length} requests, p50 ${p50} ms, p99 ${p99} ms, ${most} ms at most`;
}

async function timed(connections: Connections): Promise<{ status: number; ms: number }> {
  const startedAt = performance.now();
  const { status } = await connections.notify({ title: 'in between' });
  return { status, ms: performance.now() - startedAt };
}
