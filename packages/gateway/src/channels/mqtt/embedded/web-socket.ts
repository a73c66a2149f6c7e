// MQTT connections over WebSocket, as streams of bytes.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { guardWebSocket } from './guarded-web-socket.ts';
import { limits } from './limits.ts';
import { keepAliveMs, subprotocol } from './transport.ts';

export interface MqttWebSocket {
  stream: Duplex;
  /** Must be called when the peer has signed in: until then its bytes are counted. */
  stopCounting: () => void;
}

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  autoPong: false,
  maxPayload: limits.bytesBeforeSignIn,
  maxFragments: limits.fragmentsPerMessage,
  handleProtocols: () => subprotocol,
});

/** Completes the handshake. It never resolves if the peer asked for something else than a WebSocket, which ws refuses. */
export function acceptWebSocket(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<MqttWebSocket> {
  return new Promise((resolve) => {
    server.handleUpgrade(request, socket, head, (webSocket) => {
      request.socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
      // By default ws starts a closing handshake, and continues to read what the peer sends until it is complete.
      webSocket.on('error', () => webSocket.terminate());
      const stopCounting = guardWebSocket(webSocket, socket);
      resolve({ stream: createWebSocketStream(webSocket), stopCounting });
    });
  });
}
