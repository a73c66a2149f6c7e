// The HTTP server of the console, on a listener of its own. It answers the probes itself and passes everything else to the
// app, which most processes never need: it is opened by the first request for it.
import { createServer as createPlainServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { consoleErrorStatus } from '@tocsin/contract/console/errors';
import type { IsKnownHost } from './known-hosts.ts';
import type { ProbeResponse } from './probe.ts';
import { createProbes, type ProbeOptions } from './probes.ts';
import { type ConsoleRefusal, internalError, toBody, unknownHost } from './refusal.ts';

export interface ConsoleServerDeps extends ProbeOptions {
  isKnownHost: IsKnownHost;
  /** Called once, by the first request that needs the app, and again only if it rejected. */
  openApp: () => Promise<RequestListener>;
  /** Reports why a request could not be handled. */
  onError: (error: unknown) => void;
  /** Headers that TLS adds to every response. */
  transportHeaders?: Record<string, string>;
  /** Replaces the plain server of Node, for TLS. */
  createServer?: (options: ServerOptions, listener: RequestListener) => Server;
}

const serverOptions: ServerOptions = {
  requestTimeout: 15_000,
  keepAliveTimeout: 75_000,
  headersTimeout: 10_000,
  // Disconnects slow clients soon after their timeout; the default of Node is 30 s.
  connectionsCheckingInterval: 1000,
};

export function createConsoleServer(deps: ConsoleServerDeps): Server {
  const { isKnownHost, openApp, onError, transportHeaders = {}, createServer = createPlainServer } = deps;
  const probes = createProbes(deps);
  const headers = new Map(Object.entries(transportHeaders));
  let opening: Promise<RequestListener> | null = null;

  const app = (): Promise<RequestListener> => {
    opening ??= openApp().catch((error: unknown) => {
      opening = null;
      throw error;
    });
    return opening;
  };

  const handle: RequestListener = async (request, response) => {
    const { method = '', url = '' } = request;
    response.setHeaders(headers);
    // The health check reveals nothing and must not depend on a setting.
    if (url !== '/healthz' && !isKnownHost(request)) return send(response, refused(unknownHost()));
    const probe = method === 'GET' || method === 'HEAD' ? probes.get(url.replace(/\?.*$/s, '')) : undefined;
    if (probe !== undefined) return send(response, await probe(request));
    (await app())(request, response);
  };

  const server = createServer(serverOptions, (request, response) => {
    void Promise.try(handle, request, response).catch((error: unknown) => {
      onError(error);
      send(response, refused(internalError()));
    });
  });
  server.on('clientError', refuseOn);
  return server;
}

const statusOfError: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

/** The request is not valid HTTP, or is not complete in time. */
function refuseOn({ code = '' }: NodeJS.ErrnoException, socket: Duplex): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = statusOfError[code] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
}

function refused(refusal: ConsoleRefusal): ProbeResponse {
  return { status: consoleErrorStatus[refusal.code], body: toBody(refusal) };
}

function send(response: Parameters<RequestListener>[1], { status, body, type }: ProbeResponse): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response
    .writeHead(status, {
      'content-type': type ?? 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    })
    .end(text);
}
