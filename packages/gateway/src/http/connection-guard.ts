// Limits the cost of one connection and of one address, on every HTTP listener:
// - A few pipelined requests of one connection are handled concurrently, and none while the client does not read.
// - Before authentication it is one at a time, and such connections take turns, so that those with a key go first.
// - A client that does not read its responses is disconnected.
// - An address may have a limited number of unauthenticated connections; beyond it, those that had time to authenticate are
//   closed.
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type ServerOptions as NodeServerOptions,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { plainSocketOf } from '../core/plain-socket.ts';
import { rateLimitKey } from '../core/rate-limit-key.ts';
import { isTrusted, type Networks } from './client-address.ts';

export type ServerMaker = (options: NodeServerOptions, listener: RequestListener) => Server;

export type DisconnectReason = 'unread_response' | 'pipelining' | 'too_many_connections';
export type OnDisconnected = (event: { reason: DisconnectReason; address: string }) => void;

export interface ConnectionGuardOptions {
  /** Default: Node's plain HTTP server. */
  createServer?: ServerMaker;
  /** Connections of one address that have not authenticated; 0: no limit. */
  unauthenticatedPerAddress: number;
  /** Their connections are not counted. */
  trustedProxies: Networks;
  onDisconnected?: OnDisconnected;
}

/** A client that takes fewer than `minBytes` of what is due to it within this time is disconnected. */
const stallMs = 15_000;
const minBytes = 8 * 1024;
const sweepEveryMs = 1000;

/** Requests of one authenticated connection that are handled at the same time, and unsent bytes beyond which no other is begun. */
const maxRunning = 8;
const maxUnsentBytes = 16 * 1024;

/** Requests of one connection that wait beside them, each about 3 kB; a client that sends more ahead is disconnected. */
const maxWaiting = 12;

/** Requests sent ahead on connections that have not authenticated, of all of them together, begun in one turn of the event loop. */
const turnsAtOnce = 8;

/** Sweeps after which a connection had time to send its key, and by how much newer ones may exceed the limit until then. */
const sweepsToAuthenticate = 3;
const newcomersFactor = 4;

interface Waiting {
  request: IncomingMessage;
  response: ServerResponse;
}

interface Connection {
  /** What HTTP is spoken on: the TLS socket once there is one. */
  socket: Socket;
  readonly plain: Socket;
  readonly address: string;
  isAuthenticated: boolean;
  /** Responses that are not sent yet. */
  running: number;
  waiting: Waiting[];
  /** How many bytes the system had taken when it last took enough, and when that was. */
  taken: number;
  takenAt: number;
  /** Rather than a time: however long the process was held up, what came meanwhile is read between two of them. */
  sweeps: number;
  /** The unauthenticated connections of its address; null once it has authenticated, or where it is not counted. */
  crowd: Set<Connection> | null;
}

const connections = new WeakMap<Socket, Connection>();

/** The connection of this request no longer counts as unauthenticated. */
export function markAuthenticated({ socket }: Pick<IncomingMessage, 'socket'>): void {
  const connection = connections.get(socket);
  if (connection === undefined) return;
  connection.isAuthenticated = true;
  connection.crowd?.delete(connection);
  connection.crowd = null;
}

/** Makes servers whose connections are guarded. */
export function guardConnections(options: ConnectionGuardOptions): ServerMaker {
  return (serverOptions, listener) => new ConnectionGuard(options, listener).createServer(serverOptions);
}

class ConnectionGuard {
  readonly #options: ConnectionGuardOptions;
  readonly #listener: RequestListener;
  readonly #open = new Set<Connection>();
  readonly #crowds = new Map<string, Set<Connection>>();
  readonly #turns = new Set<Connection>();

  constructor(options: ConnectionGuardOptions, listener: RequestListener) {
    this.#options = options;
    this.#listener = listener;
  }

  createServer(serverOptions: NodeServerOptions): Server {
    const { createServer = createPlainServer } = this.#options;
    const server = createServer(serverOptions, (request, response) => this.#receive(request, response));
    // First, so that every other listener finds the connection known.
    server.prependListener('connection', (socket: Socket) => this.#accept(socket));
    server.prependListener('secureConnection', (socket: TLSSocket) => {
      const connection = connections.get(plainSocketOf(socket) as Socket);
      if (connection === undefined) return;
      connection.socket = socket;
      connections.set(socket, connection);
    });
    const sweep = setInterval(() => this.#sweep(performance.now()), sweepEveryMs).unref();
    server.once('close', () => clearInterval(sweep));
    return server;
  }

  #accept(plain: Socket): void {
    const address = plain.remoteAddress ?? '';
    const connection: Connection = {
      socket: plain,
      plain,
      address,
      isAuthenticated: false,
      running: 0,
      waiting: [],
      taken: 0,
      takenAt: performance.now(),
      sweeps: 0,
      crowd: null,
    };
    connections.set(plain, connection);
    this.#open.add(connection);
    plain.once('close', () => {
      this.#open.delete(connection);
      this.#leaveCrowd(connection);
      this.#turns.delete(connection);
      connection.waiting = [];
    });
    const { unauthenticatedPerAddress: limit, trustedProxies } = this.#options;
    if (limit > 0 && !isTrusted(address, trustedProxies)) this.#joinCrowd(connection, limit);
  }

  #joinCrowd(connection: Connection, limit: number): void {
    const unit = rateLimitKey(connection.address);
    const crowd = this.#crowds.get(unit) ?? new Set();
    this.#crowds.set(unit, crowd.add(connection));
    connection.crowd = crowd;
    if (crowd.size <= limit * newcomersFactor) return;
    // A client with a key has authenticated before this many others connect, so neighbours cannot lock it out.
    const [oldest] = crowd as Set<Connection>;
    const makesRoom = crowd.values().find(isIdle) ?? oldest;
    if (makesRoom !== undefined) this.#disconnect(makesRoom, 'too_many_connections');
  }

  /** Closes connections down to the limit, oldest first. Many clients that connect at once, each with a key, stay connected. */
  #thinOut(crowd: ReadonlySet<Connection>): void {
    let surplus = crowd.size - this.#options.unauthenticatedPerAddress;
    for (const connection of crowd) {
      if (surplus <= 0 || connection.sweeps < sweepsToAuthenticate) return;
      if (!isIdle(connection)) continue;
      this.#disconnect(connection, 'too_many_connections');
      surplus -= 1;
    }
  }

  #leaveCrowd(connection: Connection): void {
    connection.crowd?.delete(connection);
    connection.crowd = null;
    const unit = rateLimitKey(connection.address);
    if (this.#crowds.get(unit)?.size === 0) this.#crowds.delete(unit);
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket);
    if (connection === undefined) {
      this.#listener(request, response);
      return;
    }
    // A socket that is being closed still brings what was read from it before.
    if (connection.plain.destroyed) return;
    if (connection.waiting.length === 0 && hasRoom(connection)) {
      this.#start(connection, { request, response });
      return;
    }
    connection.waiting.push({ request, response });
    if (connection.waiting.length > maxWaiting) this.#disconnect(connection, 'pipelining');
  }

  #start(connection: Connection, { request, response }: Waiting): void {
    connection.running += 1;
    response.once('close', () => {
      connection.running -= 1;
      if (connection.waiting.length > 0) this.#continueLater(connection);
    });
    if (breaksAfterUpgrade(request)) response.shouldKeepAlive = false;
    this.#listener(request, response);
  }

  /** In a later turn of the event loop, so that a long queue does not hold up other connections. */
  #continueLater(connection: Connection): void {
    if (connection.isAuthenticated) {
      setImmediate(() => this.#startWaiting(connection));
      return;
    }
    if (this.#turns.size === 0) setImmediate(() => this.#takeTurns());
    this.#turns.add(connection);
  }

  #takeTurns(): void {
    for (const connection of this.#turns.values().take(turnsAtOnce)) {
      this.#turns.delete(connection);
      this.#startWaiting(connection);
    }
    if (this.#turns.size > 0) setImmediate(() => this.#takeTurns());
  }

  #startWaiting(connection: Connection): void {
    while (connection.waiting.length > 0 && hasRoom(connection)) {
      this.#start(connection, connection.waiting.shift() as Waiting);
    }
  }

  #sweep(now: number): void {
    for (const connection of this.#open) {
      connection.sweeps += 1;
      const { queued, sent } = progressOf(connection.plain);
      if (queued === 0 || sent - connection.taken >= minBytes) {
        connection.taken = sent;
        connection.takenAt = now;
      } else if (now - connection.takenAt >= stallMs) this.#disconnect(connection, 'unread_response');
    }
    for (const crowd of this.#crowds.values()) this.#thinOut(crowd);
  }

  #disconnect(connection: Connection, reason: DisconnectReason): void {
    stopParsing(connection.socket);
    connection.socket.destroy();
    // A handshake under way has no socket of its own yet.
    connection.plain.destroy();
    this.#leaveCrowd(connection);
    this.#options.onDisconnected?.({ reason, address: connection.address });
  }
}

function isIdle({ running, waiting }: Connection): boolean {
  return running === 0 && waiting.length === 0;
}

/** One that waits while nothing runs is begun in any case. */
function hasRoom({ plain, socket, running, isAuthenticated }: Connection): boolean {
  if (plain.destroyed) return false;
  return running === 0 || (isAuthenticated && running < maxRunning && socket.writableLength <= maxUnsentBytes);
}

/**
 * One read of a socket can hold more than a thousand requests, and Node would make each of them only to abort it. That a
 * parser stops after the request for which 2 is returned is how Node leaves the rest of a read to another protocol.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as Socket & { parser?: { onIncoming: unknown } | null };
  if (parser) parser.onIncoming = () => 2;
}

/** Bytes that wait to be sent, and how many the system has taken; also in the middle of one long write. */
function progressOf(plain: Socket): { queued: number; sent: number } {
  const { _handle: handle } = plain as Socket & { _handle?: { writeQueueSize: number; bytesWritten: number } | null };
  if (!handle) return { queued: 0, sent: 0 };
  return { queued: handle.writeQueueSize, sent: handle.bytesWritten - handle.writeQueueSize };
}

/** Node leaves a connection deaf that is answered before the body of a request with Upgrade has arrived. */
function breaksAfterUpgrade({ headers }: IncomingMessage): boolean {
  if (headers.upgrade === undefined) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
