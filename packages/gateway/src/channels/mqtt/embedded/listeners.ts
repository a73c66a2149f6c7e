// The listeners for MQTT clients: a TCP port, and WebSocket on the HTTP server of the console.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, isIPv6, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { guardWebSocket } from './guarded-web-socket.ts';
import { limits } from './limits.ts';

const path = '/mqtt';
/** Required by MQTT-6.0.0-4. */
const subprotocol = 'mqtt';
const keepAliveMs = 60_000;

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
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: limits.bytesBeforeSignIn,
    maxFragments: limits.fragmentsPerMessage,
    handleProtocols: () => subprotocol,
  });
  return {
    handleUpgrade(request, socket, head, { address, onSignedIn }) {
      socket.on('error', () => socket.destroy());
      if (pathOf(request) !== path) return refuse(socket, '404 Not Found');
      if (request.headers.origin !== undefined && !isOwnPage(request)) return refuse(socket, '403 Forbidden');
      if (!offersMqtt(request)) return refuse(socket, '400 Bad Request');
      server.handleUpgrade(request, socket, head, (webSocket) => {
        request.socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
        // By default ws starts a closing handshake, and continues to read what the peer sends until it is complete.
        webSocket.on('error', () => webSocket.terminate());
        const stopCounting = guardWebSocket(webSocket, socket);
        accept(createWebSocketStream(webSocket), address, () => {
          stopCounting();
          onSignedIn();
        });
      });
    },
  };
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
