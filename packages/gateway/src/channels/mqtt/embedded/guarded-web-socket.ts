// Limits on what a peer sends around its MQTT packets on a WebSocket. ws replies to every ping, whether or not the pongs
// are read, and passes on no byte of a control frame, so that no other layer could count them.
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { limits } from './limits.ts';

/** Disconnects a peer that sends too much. Call the returned function when the peer has signed in. */
export function guardWebSocket(webSocket: WebSocket, socket: Duplex): () => void {
  let bytes = 0;
  const countBytes = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > limits.webSocketBytesBeforeSignIn) webSocket.terminate();
  };
  // Counts bytes before ws handles them. `on` would also switch the socket to flowing mode.
  socket.prependListener('data', countBytes);

  let frames = 0;
  let windowEndsAt = 0;
  const countIdleFrame = (): void => {
    const now = performance.now();
    if (now >= windowEndsAt) {
      frames = 0;
      windowEndsAt = now + 1000;
    }
    frames += 1;
    if (frames > limits.idleFramesPerSecond) webSocket.terminate();
  };
  webSocket.on('ping', (payload) => {
    countIdleFrame();
    // A pong is required only for the most recent ping (RFC 6455, section 5.5.3).
    if (webSocket.readyState === webSocket.OPEN && webSocket.bufferedAmount === 0) webSocket.pong(payload);
  });
  webSocket.on('pong', countIdleFrame);
  webSocket.on('message', (payload: Buffer) => {
    if (payload.length === 0) countIdleFrame();
  });
  return () => socket.removeListener('data', countBytes);
}
