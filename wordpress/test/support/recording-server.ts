// An HTTP server on 127.0.0.1 that responds like a gateway and records requests.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface RecordedRequest {
  headers: IncomingHttpHeaders;
  body: string;
}

export class RecordingServer {
  readonly url: string;
  readonly requests: RecordedRequest[] = [];
  /** If set, every response is this redirect. */
  redirect: { status: number; location: string } | undefined;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<RecordingServer> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const recording = new RecordingServer(server);
    server.on('request', async (request, response) => {
      recording.requests.push({ headers: request.headers, body: await text(request) });
      const { redirect } = recording;
      if (redirect === undefined) response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
      else response.writeHead(redirect.status, { location: redirect.location }).end();
    });
    return recording;
  }

  /** Returns how many requests were authenticated or signed with a key, and how many contain it anywhere. */
  uses(key: string): { authenticated: number; signed: number; containing: number } {
    const count = (test: (request: RecordedRequest) => boolean) => this.requests.filter(test).length;
    return {
      authenticated: count(({ headers }) => headers.authorization === `Bearer ${key}`),
      signed: count(({ headers, body }) => {
        const signature = createHmac('sha256', key).update(`${headers['x-timestamp']}${body}`).digest('hex');
        return headers['x-signature'] === signature;
      }),
      containing: count((request) => JSON.stringify(request).includes(key)),
    };
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
