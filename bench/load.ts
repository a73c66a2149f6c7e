// The load generator, in a separate process: closed loop, one request at a time on every connection. It writes prebuilt
// bytes and parses only the necessary part of a response, so that the servers get the processors.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { systemMs } from './clock.ts';
import { percentile } from './figures.ts';

export interface LoadTarget {
  port: number;
  /** The whole request, head and body. */
  request: string;
}

export interface LoadJob {
  /** The connections are distributed over them in turn. */
  targets: readonly LoadTarget[];
  /** A response without this text is an error, whatever its status. */
  mustContain: string;
  connections: number;
  seconds: number;
  /** Ends after this number of requests, if that is sooner. */
  requests?: number;
  /** How long a connection pauses between a response and its next request; default none. */
  pauseMs?: number;
  /** Record the `id` and the time of each response. */
  hasIds?: boolean;
}

/** The responses of one connection in their order, those after the end of the measured time included. */
export interface Responses {
  ids: string[];
  /** Of the system's clock. */
  times: number[];
}

export interface LoadResult {
  requests: number;
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  errors: number;
  firstError: string | null;
  /** Share of one processor that the generator itself used. */
  generatorCpu: number;
  /** Share of the time in which its event loop had work: near 1 the generator is the bottleneck. */
  generatorBusy: number;
  /** By connection. */
  responses: Responses[];
}

/** How long the last responses may take after the time is over. */
const timeoutMs = 10_000;
const readBufferBytes = 16 * 1024;
const headEnd = Buffer.from('\r\n\r\n');
const lengthHeader = Buffer.from('Content-Length: ');
const idField = Buffer.from('"id":');
const statusOffset = 'HTTP/1.1 '.length;

class Load {
  readonly #job: LoadJob;
  readonly #needle: Buffer;
  readonly #latencies: number[] = [];
  readonly #responses: Responses[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #finished = Promise.withResolvers<void>();
  #unsent: number;
  #endsAt = 0;
  #lastAt = 0;
  #errors = 0;
  #firstError: string | null = null;

  constructor(job: LoadJob) {
    this.#job = job;
    this.#needle = Buffer.from(job.mustContain);
    this.#unsent = job.requests ?? Number.POSITIVE_INFINITY;
  }

  async run(): Promise<LoadResult> {
    const { targets, connections, seconds } = this.#job;
    const starts = await Promise.all(
      Array.from({ length: connections }, (_, index) => this.#open(targets[index % targets.length] as LoadTarget)),
    );
    const startedAt = performance.now();
    this.#endsAt = startedAt + seconds * 1000;
    const cpuBefore = process.cpuUsage();
    const busyBefore = performance.eventLoopUtilization();
    for (const start of starts) start();
    const timer = setTimeout(() => this.#abort(), seconds * 1000 + timeoutMs);
    await this.#finished.promise;
    clearTimeout(timer);
    const cpu = process.cpuUsage(cpuBefore);
    const busy = performance.eventLoopUtilization(busyBefore);
    const milliseconds = (this.#unsent === 0 ? this.#lastAt : this.#endsAt) - startedAt;
    const sorted = Float64Array.from(this.#latencies).sort();
    return {
      requests: sorted.length,
      requestsPerSecond: (sorted.length / milliseconds) * 1000,
      p50Ms: percentile(sorted, 0.5),
      p99Ms: percentile(sorted, 0.99),
      maxMs: percentile(sorted, 1),
      errors: this.#errors,
      firstError: this.#firstError,
      generatorCpu: (cpu.user + cpu.system) / 1000 / milliseconds,
      generatorBusy: busy.utilization,
      responses: this.#responses,
    };
  }

  /** Ends the measured time now. */
  stop(): void {
    this.#endsAt = performance.now();
  }

  /** Resolves with the function that sends the first request, so that all connections start together. */
  async #open({ port, request }: LoadTarget): Promise<() => void> {
    const bytesOfRequest = Buffer.from(request);
    let sentAt = 0;
    let isDone = false;
    let pending: Buffer | null = null;
    const responses: Responses = { ids: [], times: [] };
    if (this.#job.hasIds === true) this.#responses.push(responses);
    const end = (): void => {
      isDone = true;
      socket.end();
    };
    const send = (): void => {
      if (this.#unsent === 0) {
        end();
        return;
      }
      this.#unsent -= 1;
      sentAt = performance.now();
      socket.write(bytesOfRequest);
    };
    const receive = (bytes: Buffer): void => {
      const received: Buffer = pending === null ? bytes : Buffer.concat([pending, bytes]);
      const length = responseLength(received);
      if (length === undefined || received.length < length) {
        // The read buffer is reused for the next read.
        pending = Buffer.from(received);
        return;
      }
      pending = null;
      const now = performance.now();
      if (!this.#isExpected(received, length)) this.#fail(received.toString('utf8', 0, 600));
      // Late responses count neither towards the rate nor towards the latency.
      else if (now <= this.#endsAt) this.#latencies.push(now - sentAt);
      if (this.#job.hasIds === true) {
        responses.ids.push(idOf(received));
        responses.times.push(systemMs());
      }
      this.#lastAt = now;
      const { pauseMs = 0 } = this.#job;
      if (now + pauseMs >= this.#endsAt) end();
      else if (pauseMs === 0) send();
      else setTimeout(send, pauseMs);
    };
    const socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(readBufferBytes),
        callback: (count, buffer) => {
          receive((buffer as Buffer).subarray(0, count));
          return true;
        },
      },
    });
    this.#sockets.add(socket);
    await once(socket, 'connect');
    socket.on('error', (error) => this.#fail(String(error)));
    socket.on('close', () => {
      if (!isDone) this.#fail('the server closed a connection');
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#finished.resolve();
    });
    return send;
  }

  #isExpected(response: Buffer, length: number): boolean {
    const isOk =
      response[statusOffset] === 0x32 && response[statusOffset + 1] === 0x30 && response[statusOffset + 2] === 0x30;
    return isOk && response.length === length && response.includes(this.#needle);
  }

  #fail(what: string): void {
    this.#errors += 1;
    this.#firstError ??= what;
  }

  #abort(): void {
    this.#fail(`${this.#sockets.size} connections without a response after ${timeoutMs} ms`);
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** The length of the whole response; undefined while its head is incomplete. */
function responseLength(bytes: Buffer): number | undefined {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return undefined;
  const at = bytes.indexOf(lengthHeader);
  if (at < 0 || at > end) throw new Error(`A response without Content-Length:\n${bytes.toString('utf8', 0, end)}`);
  let length = 0;
  for (let index = at + lengthHeader.length; bytes[index] !== 0x0d; index += 1) {
    length = length * 10 + (bytes[index] as number) - 0x30;
  }
  return end + headEnd.length + length;
}

/** The first `id` in the body, a text or a number. */
function idOf(response: Buffer): string {
  const field = response.indexOf(idField);
  if (field < 0) return '';
  const isText = response[field + idField.length] === 0x22;
  const start = field + idField.length + (isText ? 1 : 0);
  let end = start;
  while (end < response.length && !isIdEnd(response[end] as number)) end += 1;
  return response.toString('latin1', start, end);
}

/** A quotation mark, a comma or a closing brace. */
function isIdEnd(byte: number): boolean {
  return byte === 0x22 || byte === 0x2c || byte === 0x7d;
}

let running: Load | undefined;
process.on('message', async (job: LoadJob | 'stop') => {
  if (job === 'stop') return running?.stop();
  running = new Load(job);
  process.send?.(await running.run());
});
process.on('disconnect', () => process.exit());
