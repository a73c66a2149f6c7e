// Opens listeners, and drains them on shutdown.
import type { Server, ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { isTooManyFiles, tooManyFiles } from '../core/file-error.ts';
import { plainSocketOf } from '../core/plain-socket.ts';
import { Problem } from '../core/problem.ts';

/** A keep-alive client may have sent its next request before it could know of the shutdown. */
const lingerMs = 250;
const sweepEveryMs = 50;

/** Returns the URL of the listener, with the port that the system chose if it was 0. Errors name the variable to change. */
export async function listen(server: Server, host: string, port: number, variable: string): Promise<string> {
  track(server);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, resolve);
    });
  } catch (error) {
    throw listenProblem(error, { host, port, variable });
  }
  // A connection that cannot be accepted, for example without free file descriptors, must not end the process.
  server.on('error', () => undefined);
  const { address, port: taken, family } = server.address() as AddressInfo;
  return `${isSecure(server) ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${taken}/`;
}

export function listenProblem(
  error: unknown,
  { host, port, variable }: { host: string; port: number; variable: string },
): Problem {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new Problem(
      `Port ${port} is already in use. Stop the process that uses it, or set ${variable} to another port (0: any).`,
    );
  }
  if (code !== undefined && notOurAddress.has(code)) {
    return new Problem(
      `TOCSIN_HOST: this machine cannot listen on ${host} (${code}). Set it to one of its addresses, or to 0.0.0.0 for ` +
        'all of them.',
    );
  }
  if (code === 'EACCES') {
    return new Problem(`Permission denied to listen on port ${port}. Set ${variable} to 1024 or higher.`);
  }
  if (isTooManyFiles(error)) return new Problem(`Cannot listen on port ${port} (${variable}). ${tooManyFiles}`);
  return new Problem(`Cannot listen on port ${port} (${variable}): ${message}`);
}

const notOurAddress = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EAFNOSUPPORT', 'EINVAL']);

/**
 * Accepts no new connections, finishes requests in flight, and resolves when the last response is sent. Responses carry
 * `Connection: close`, so that balancers reconnect elsewhere. The signal closes the remaining connections.
 */
export async function drain(server: Server, signal: AbortSignal): Promise<void> {
  const tracked = trackedServers.get(server);
  if (!server.listening || tracked === undefined) return;
  const { handshakes, latest } = tracked;
  const bytesBefore = new Map([...latest.keys()].map((socket) => [socket, socket.bytesRead]));
  const answered = (socket: Socket, response: ServerResponse | null): boolean =>
    socket.bytesRead === (response === null ? 0 : (bytesBefore.get(socket) ?? 0)) &&
    (response === null || response.writableFinished || response.destroyed);

  // Not http.Server.close: it would immediately close idle connections on which a request may be arriving.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  tracked.isDraining = true;
  for (const response of latest.values()) {
    if (response !== null && !response.headersSent) response.shouldKeepAlive = false;
  }
  const lingersUntil = performance.now() + lingerMs;
  const sweep = setInterval(() => {
    if (performance.now() < lingersUntil) return;
    for (const socket of handshakes) socket.destroy();
    for (const [socket, response] of latest) if (answered(socket, response)) socket.destroy();
  }, sweepEveryMs);
  const closeAll = (): void => {
    for (const socket of [...handshakes, ...latest.keys()]) socket.destroy();
  };
  signal.addEventListener('abort', closeAll);
  if (signal.aborted) closeAll();
  await closed;
  signal.removeEventListener('abort', closeAll);
  clearInterval(sweep);
  // Stops the timer of http.Server that checks for slow clients.
  server.close();
}

interface Tracked {
  isDraining: boolean;
  /** Connections during the TLS handshake. */
  handshakes: Set<Socket>;
  /** Connection → the response to the last request that arrived on it. */
  latest: Map<Socket, ServerResponse | null>;
}

const trackedServers = new WeakMap<Server, Tracked>();

function track(server: Server): void {
  const tracked: Tracked = { isDraining: false, handshakes: new Set(), latest: new Map() };
  const { handshakes, latest } = tracked;
  trackedServers.set(server, tracked);
  const follow = (socket: Socket): void => {
    latest.set(socket, null);
    socket.once('close', () => latest.delete(socket));
  };
  if (isSecure(server)) {
    server.on('connection', (socket: Socket) => {
      handshakes.add(socket);
      socket.once('close', () => handshakes.delete(socket));
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      handshakes.delete(plainSocketOf(socket) as Socket);
      follow(socket);
    });
  } else server.on('connection', follow);
  server.prependListener('request', ({ socket }, response) => {
    if (tracked.isDraining) closeAfter(response, latest.get(socket) ?? null);
    latest.set(socket, response);
  });
}

/** Of pipelined requests, the last one closes the connection. */
function closeAfter(response: ServerResponse, before: ServerResponse | null): void {
  if (before !== null && !before.headersSent) before.shouldKeepAlive = true;
  response.shouldKeepAlive = false;
}

function isSecure(server: Server): boolean {
  return 'setSecureContext' in server;
}
