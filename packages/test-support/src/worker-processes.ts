// Helpers for tests of several processes: which of them run, and which of them handled a request.
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { SuccessResponse } from '@tocsin/contract';
import { Connections } from './connections.ts';
import { eventually } from './eventually.ts';
import type { GatewayProcess } from './gateway-process.ts';
import { pauseBetweenRequests } from './pace.ts';

interface LogLine {
  msg: string;
  worker?: number;
  pid?: number;
  requestId?: string;
  code?: number | null;
  signal?: string | null;
}

const parsedLogs = new WeakMap<GatewayProcess, { upTo: number; lines: LogLine[] }>();

/** Parses only what was logged since the last call: some tests poll it, at the log level debug. */
export function logLines(gateway: GatewayProcess): readonly LogLine[] {
  const parsed = parsedLogs.get(gateway) ?? { upTo: 0, lines: [] };
  parsedLogs.set(gateway, parsed);
  const end = gateway.log.lastIndexOf('\n') + 1;
  for (const line of gateway.log.slice(parsed.upTo, end).split('\n')) {
    if (line.startsWith('{')) parsed.lines.push(JSON.parse(line) as LogLine);
  }
  parsed.upTo = end;
  return parsed.lines;
}

/** Worker number → pid of the one that was started last. */
export function workersOf(gateway: GatewayProcess): Map<number, number> {
  const started = logLines(gateway).filter(({ msg }) => msg === 'worker listening');
  return new Map(started.map(({ worker, pid }) => [worker as number, pid as number]));
}

/** The number of requests that each worker has handled; needs the log level debug. */
function responsesByWorker(gateway: GatewayProcess): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { msg, worker } of logLines(gateway)) {
    if (msg === 'answered' && worker !== undefined) counts.set(worker, (counts.get(worker) ?? 0) + 1);
  }
  return counts;
}

/** The system distributes connections unevenly: sends requests until each of two workers has handled this number. */
export async function untilBothResponded(gateway: GatewayProcess, responses: number, request: () => Promise<unknown>) {
  await eventually(
    `both workers gave ${responses} responses`,
    30_000,
    async () => {
      await request();
      const byWorker = responsesByWorker(gateway);
      return [1, 2].map((worker) => byWorker.get(worker) ?? 0);
    },
    (counts) => counts.every((count) => count >= responses),
  );
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export async function replaced(gateway: GatewayProcess, worker: number, oldPid: number, withinMs: number) {
  const isNew = (pid: number | undefined): boolean => pid !== undefined && pid !== oldPid;
  return eventually(`worker ${worker} is replaced`, withinMs, () => workersOf(gateway).get(worker), isNew);
}

/** All workers, also those that do not listen yet. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

export function hasOpen(pid: number, file: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    // Between fork and exec it is a copy of the primary, with the same open files.
    if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes('NODE_UNIQUE_ID=')) return false;
    return readdirSync(folder).some((descriptor) => readlinkSync(`${folder}/${descriptor}`) === file);
  } catch {
    // A descriptor was closed meanwhile, or the process has ended.
    return false;
  }
}

/** Longer than the response time of a gateway whose store hangs. */
const patienceMs = 8000;

/** Many connections that send notifications one after another until they are stopped, and record the acknowledged ones. */
export class Load {
  readonly acknowledged = new Map<string, string>();
  readonly refused: string[] = [];
  interrupted = 0;
  /** Requests that got neither a response nor a closed connection. */
  hung = 0;
  #count = 0;
  #isStopped = false;
  readonly #connections: Connections;
  readonly #senders: Promise<void>[];

  constructor(t: TestContext, target: { api: string; key: string }, connections: number, keepAlive = true) {
    t.after(() => this.stop());
    this.#connections = new Connections(target, connections, keepAlive);
    this.#senders = Array.from({ length: connections }, () => this.#send());
  }

  /** Resolves when this number of further notifications has been acknowledged. */
  async more(count: number): Promise<void> {
    const wanted = this.acknowledged.size + count;
    await eventually(
      `${count} more acknowledged`,
      20_000,
      () => this.acknowledged.size,
      (size) => size >= wanted,
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#senders);
    this.#connections.close();
  }

  async #send(): Promise<void> {
    while (!this.#isStopped) {
      this.#count += 1;
      const title = `notification ${this.#count}`;
      const deadline = AbortSignal.timeout(patienceMs);
      try {
        const { status, text } = await this.#connections.notify({ title }, deadline);
        const body = JSON.parse(text) as SuccessResponse;
        if (status === 200 && body.stored) this.acknowledged.set(body.id, title);
        else this.refused.push(text);
        await pauseBetweenRequests();
      } catch {
        if (deadline.aborted) this.hung += 1;
        else this.interrupted += 1;
        // Perhaps no worker is listening at the moment.
        await delay(10);
      }
    }
  }
}

/** Resolves with the exit code; fails after the timeout. */
export async function exitWithin({ child }: GatewayProcess, ms: number): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  const [code] = (await once(child, 'exit', { signal: AbortSignal.timeout(ms) })) as [number | null];
  return code;
}
