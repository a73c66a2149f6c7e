// The socket side of the public API: what happens to clients that are slow, or do not speak HTTP.
import {
  createServer as createPlainServer,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ErrorCode, errors } from '@tocsin/contract';
import { Refusal } from '../core/refusal.ts';
import type { ServerMaker } from './connection-guard.ts';
import { responseHeaders } from './cors.ts';
import { errorAnswer } from './errors.ts';

export interface ServerOptions {
  app: RequestListener;
  newRequestId: () => string;
  timeouts?: ServerTimeouts;
  /** Told of what was refused before the app saw it. */
  onRefused?: OnRefused;
  /** Another than Node's plain one, for TLS. */
  createServer?: ServerMaker;
}

export type OnRefused = (line: { requestId: string; status: number; code: ErrorCode; address?: string }) => void;

export interface ServerTimeouts {
  headersMs: number;
  requestMs: number;
}

const defaultTimeouts: ServerTimeouts = { headersMs: 10_000, requestMs: 15_000 };

export function createApiServer({
  app,
  newRequestId,
  timeouts = defaultTimeouts,
  onRefused,
  createServer = createPlainServer,
}: ServerOptions): Server {
  const { headersMs, requestMs } = timeouts;
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      // Often, so that a crowd of slow clients is not dropped in one long turn of the event loop.
      connectionsCheckingInterval: Math.min(250, headersMs),
      // Longer than the idle time-out of common load balancers, which otherwise race our close with a request.
      keepAliveTimeout: 75_000,
      // Two Authorization headers become visible as two, instead of the first winning silently.
      joinDuplicateHeaders: true,
      // The app refuses a request without a host itself, as it answers everything else.
      requireHostHeader: false,
    },
    app,
  );
  // A client may close its side once it has sent all; the answer still goes out.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  // An expectation that nobody knows is no reason to refuse.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  const latest = new WeakMap<Duplex, ServerResponse>();
  server.prependListener('request', ({ socket }, response) => latest.set(socket, response));
  const refuseOn = (socket: Duplex, refusal: Refusal): void => {
    // What fails is the rest of a request that has been answered: a second response would belong to nothing.
    if (isAnsweredEarly(latest.get(socket))) {
      socket.destroy();
      return;
    }
    const requestId = newRequestId();
    const { code } = refusal;
    const { remoteAddress: address = '' } = socket as Socket;
    if (refuse(socket, refusal, requestId)) onRefused?.({ requestId, status: errors[code].status, code, address });
  };
  server.on('connect', (_request, socket) => refuseOn(socket, new Refusal('method_not_allowed')));
  // The app tells a client to go ahead once it knows that the body may be accepted.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseOn(socket, refusalFor(error)));
  return server;
}

function refusalFor(error: NodeJS.ErrnoException): Refusal {
  if (isTimeout(error)) return new Refusal('request_timeout');
  const problem = problems[error.code ?? ''] ?? 'this is not a valid HTTP request';
  return new Refusal('invalid_body', { details: [{ field: 'request', problem }] });
}

function isTimeout({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' || code === 'ERR_TLS_HANDSHAKE_TIMEOUT';
}

const problems: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'the headers are too large',
  ERR_SSL_HTTP_REQUEST: 'this port speaks https, not http',
};

/** The request never became one that the app sees, so the answer is written by hand; says whether it was. */
function refuse(socket: Duplex, refusal: Refusal, requestId: string): boolean {
  const underWay = responseUnderWay(socket);
  if (underWay !== null) {
    // What came before was a good request: its answer goes out first, and nothing after it.
    underWay.once('finish', () => socket.destroy());
    return false;
  }
  if (!socket.writable) {
    socket.destroy();
    return false;
  }
  const { status, body } = errorAnswer(refusal, requestId, Date.now());
  const text = JSON.stringify(body);
  const headers = {
    ...responseHeaders,
    'X-Request-Id': requestId,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(text)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${text}`, () =>
    socket.destroy(),
  );
  return true;
}

function isAnsweredEarly(response: ServerResponse | undefined): boolean {
  return response?.writableFinished === true && !response.req.complete;
}

/** Node keeps it on the socket; a second answer into its middle would only confuse the client. */
function responseUnderWay(socket: Duplex): ServerResponse | null {
  const response = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage ?? null;
  return response === null || response.writableFinished || !response.req.complete ? null : response;
}
