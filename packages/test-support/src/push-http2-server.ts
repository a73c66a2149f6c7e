// What the stand-ins for FCM and APNs share: an HTTP/2 server, with or without TLS, that can also misbehave.
import { EventEmitter, once } from 'node:events';
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { IssuedCertificate } from './tls-ca.ts';

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A response, or none. */
export type Reply = Answer | 'silence';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  stream: ServerHttp2Stream;
}

export class PushHttp2Server extends EventEmitter<{ request: [Received] }> {
  readonly sessions = new Set<ServerHttp2Session>();
  sessionCount = 0;
  readonly #server: Http2Server;
  readonly #scheme: string;
  #port = 0;

  constructor(respond: (request: Received) => Reply, certificate?: IssuedCertificate, maxConcurrentStreams = 100) {
    super();
    const settings = { settings: { maxConcurrentStreams } };
    this.#scheme = certificate === undefined ? 'http' : 'https';
    this.#server =
      certificate === undefined
        ? createServer(settings)
        : createSecureServer({ key: certificate.key, cert: certificate.cert, ...settings });
    this.#server.on('session', (session) => {
      this.sessionCount += 1;
      this.sessions.add(session);
      session.once('close', () => this.sessions.delete(session));
      session.on('error', () => undefined);
    });
    this.#server.on('stream', async (stream: ServerHttp2Stream, headers) => {
      stream.on('error', () => undefined);
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString('utf8');
      const received = { path: headers[':path'] ?? '', headers, body, stream };
      const reply = headers[':method'] === 'POST' ? respond(received) : { status: 405 };
      this.emit('request', received);
      if (reply === 'silence' || stream.destroyed) return;
      stream.respond({ ':status': reply.status, ...reply.headers });
      stream.end(
        reply.body === undefined ? '' : typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body),
      );
    });
  }

  /** Uses any free port, and after a stop the same again. */
  async listen(): Promise<string> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    return `${this.#scheme}://127.0.0.1:${this.#port}`;
  }

  /** Resolves with the next request, whether or not it gets a response. */
  async nextRequest(): Promise<Received> {
    const [received] = await once(this, 'request');
    return received as Received;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const session of this.sessions) session.destroy();
    await closed;
  }
}
