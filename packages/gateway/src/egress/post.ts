// POST to an https address that a caller chose. Redirects are not followed, and the response body is discarded.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, type AgentOptions, request } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { withDeadline } from './deadline.ts';
import { EgressFailed, EgressRefused } from './errors.ts';

export interface PostRequest {
  headers: Readonly<Record<string, string>>;
  body: Uint8Array | string;
}

export interface PostResponse {
  status: number;
  headers: IncomingHttpHeaders;
}

type Dial = (host: string, port: number) => Promise<TLSSocket>;

/** The connection is closed if the response body is longer. */
const maxBodyBytes = 64 * 1024;
const idleMs = 30_000;

/** Keeps connections for a while; every new one goes through the dialer. */
export class GuardedAgent extends Agent {
  readonly #dial: Dial;

  constructor(dial: Dial) {
    super({ keepAlive: true, maxSockets: 64, maxFreeSockets: 8, timeout: idleMs, scheduling: 'lifo' });
    this.#dial = dial;
  }

  override createConnection(
    options: AgentOptions & { host?: string; port?: number | string },
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    // Node's type has no null for the socket of a connection that failed.
    const fail = (error: Error): void => done?.(error, undefined as unknown as Duplex);
    this.#dial(options.host ?? '', Number(options.port ?? 443)).then((socket) => done?.(null, socket), fail);
  }
}

export async function post(
  url: URL,
  { headers, body }: PostRequest,
  agent: Agent,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<PostResponse> {
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') throw new EgressRefused();
  return withDeadline(
    signal,
    timeoutMs,
    () => new EgressFailed(),
    (deadline) => {
      return new Promise((resolve, reject) => {
        const fail = (error: unknown): void => reject(error instanceof EgressFailed ? error : new EgressFailed());
        const call = request({
          agent,
          host: url.hostname.replace(/^\[|\]$/g, ''),
          port: url.port === '' ? 443 : Number(url.port),
          path: url.pathname + url.search,
          method: 'POST',
          headers: { Host: url.host, 'Content-Length': Buffer.byteLength(body), ...headers },
        });
        deadline.addEventListener('abort', () => call.destroy(), { once: true });
        call.on('error', fail);
        call.on('close', () => fail(undefined));
        call.on('response', (response) => {
          discard(response, timeoutMs);
          resolve({ status: response.statusCode ?? 0, headers: response.headers });
        });
        call.end(body);
      });
    },
  );
}

/** Reads a short body to its end, so that the connection can be used again. */
function discard(response: IncomingMessage, timeoutMs: number): void {
  let bytes = 0;
  const timer = setTimeout(() => response.destroy(), timeoutMs);
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) response.destroy();
  });
  response.on('error', () => response.destroy());
  response.once('close', () => clearTimeout(timer));
}
