// The listeners for MQTT clients: a TCP port, and WebSocket on the HTTP server of the console.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, isIPv6, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { limits } from './limits.ts';
import { keepAliveMs, subprotocol } from './transport.ts';
import type { MqttWebSocket } from './web-socket.ts';

const path = '/mqtt';

export type Accept = (stream: Duplex, address: string, onSignedIn: () => void) => void;

/** Listens for MQTT over TCP. The URL has the actual port, also if the system chose it. */
export async function listenOnTcp(
  host: string,
  port: number,
  accept: Accept,
  onFailed: (error: unknown) => void,
): Promise<{ server: Server; url: string }> {
  const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs };
  const server = createServer(options, (socket) => accept(socket, socket.remoteAddress ?? '', () => undefined));
  server.listen({ port, host, backlog: limits.backlog });
  await once(server, 'listening');
  // A connection that cannot be accepted, for example for lack of file descriptors, must not end the process.
  server.on('error', onFailed);
  const { port: actualPort } = server.address() as AddressInfo;
  return { server, url: `mqtt://${isIPv6(host) ? `[${host}]` : host}:${actualPort}` };
}

export interface WebSocketListener {
  handleUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    peer: { address: string; onSignedIn: () => void },
  ): void;
}

/** Refuses pages of other sites, which browsers name in the Origin header. Programs send none and are accepted. */
export function createWebSocketListener(
  accept: Accept,
  isOwnPage: (request: IncomingMessage) => boolean,
): WebSocketListener {
  return {
    handleUpgrade(request, socket, head, { address, onSignedIn }) {
      socket.on('error', () => socket.destroy());
      if (pathOf(request) !== path) return refuse(socket, '404 Not Found');
      if (request.headers.origin !== undefined && !isOwnPage(request)) return refuse(socket, '403 Forbidden');
      if (!offersMqtt(request)) return refuse(socket, '400 Bad Request');
      openWebSocket(request, socket, head).then(
        ({ stream, stopCounting }) =>
          accept(stream, address, () => {
            stopCounting();
            onSignedIn();
          }),
        () => socket.destroy(),
      );
    },
  };
}

/** Most devices use TCP: the library is loaded for the first one that does not. */
async function openWebSocket(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<MqttWebSocket> {
  const { acceptWebSocket } = await import('./web-socket.ts');
  return acceptWebSocket(request, socket, head);
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] as string;
}

function offersMqtt({ headers }: IncomingMessage): boolean {
  const offered = headers['sec-websocket-protocol'] ?? '';
  return offered.split(',').some((name) => name.trim() === subprotocol);
}

function refuse(socket: Duplex, status: string): void {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
