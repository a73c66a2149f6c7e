// The server of the public API: limits for slow clients, and errors for malformed requests.
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
  /** Called for requests that are refused before the app handles them. */
  onRefused?: OnRefused;
  /** Replaces Node's plain HTTP server, for TLS. */
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
      // Frequent, so that many slow clients are not closed in one long iteration of the event loop.
      connectionsCheckingInterval: Math.min(250, headersMs),
      // Longer than the idle timeout of common load balancers, which otherwise race the close with a request.
      keepAliveTimeout: 75_000,
      // Duplicate Authorization headers are joined, instead of the first being used silently.
      joinDuplicateHeaders: true,
      // The app refuses requests without a host itself, with its own error body.
      requireHostHeader: false,
    },
    app,
  );
  // A client may half-close after its request; the response is still sent.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  // Unknown expectations are ignored instead of refused.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  const latest = new WeakMap<Duplex, ServerResponse>();
  server.prependListener('request', ({ socket }, response) => latest.set(socket, response));
  const refuseOn = (socket: Duplex, refusal: Refusal): void => {
    // The error concerns the rest of a request that already has a response; a second one would be invalid.
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
  // The app sends 100 Continue once it knows that the body may be accepted.
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
  ERR_SSL_HTTP_REQUEST: 'this port expects https, not http',
};

/** The request never reached the app, so the response is written to the socket; returns whether it was. */
function refuse(socket: Duplex, refusal: Refusal, requestId: string): boolean {
  const underWay = responseUnderWay(socket);
  if (underWay !== null) {
    // A valid request came before: its response is sent, and nothing after it.
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

/** Node stores the current response on the socket; a second one must not be written into it. */
function responseUnderWay(socket: Duplex): ServerResponse | null {
  const response = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage ?? null;
  return response === null || response.writableFinished || !response.req.complete ? null : response;
}
