// Servers that a caller could name as a broker although they are none: with TLS, on 127.0.0.1. They count connections.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { IssuedCertificate } from './tls-ca.ts';

export interface CountingServer {
  port: number;
  connections: number;
  stop(): void;
}

async function listen(server: Server, host: string, port: number): Promise<CountingServer> {
  const sockets = new Set<Socket>();
  const counting = {
    port: 0,
    connections: 0,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  server.on('connection', (socket: Socket) => {
    counting.connections++;
    sockets.add(socket.on('error', () => socket.destroy()));
  });
  server.listen(port, host);
  await once(server, 'listening');
  counting.port = (server.address() as { port: number }).port;
  return counting;
}

/** Accepts connections and sends nothing. `::` listens on every address of this machine. */
export function startSilentServer(host = '127.0.0.1', port = 0): Promise<CountingServer> {
  return listen(createTcpServer(), host, port);
}

/** Speaks TLS; `play` gets each connection with the first bytes that came over it. */
export function startTlsServer(
  { cert, key }: IssuedCertificate,
  play: (socket: Socket, head: string) => void,
): Promise<CountingServer> {
  const server = createTlsServer({ cert, key }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (head) => play(socket, head.toString('latin1')));
  });
  return listen(server, '127.0.0.1', 0);
}

/** Accepts the WebSocket; `play` gets the connection with the first frame (CONNECT) behind it. */
export function startWebSocketServer(
  certificate: IssuedCertificate,
  play: (socket: Socket) => void,
): Promise<CountingServer> {
  return startTlsServer(certificate, (socket, head) => {
    const key = /^sec-websocket-key: (\S+)/im.exec(head)?.[1] ?? '';
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    socket.once('data', () => play(socket));
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n`,
    );
  });
}

/** A binary WebSocket frame; `length` may differ from the actual length. */
export function frame(payload: Buffer, length = payload.length): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt8(0x82, 0);
  head.writeUInt8(127, 1);
  head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}
