// TLS on the HTTP listeners, with a certificate that is reloaded while they run.
import type { RequestListener, Server, ServerOptions } from 'node:http';
import { createServer, type Server as TlsServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { plainSocketOf } from '../../core/plain-socket.ts';
import { Problem } from '../../core/problem.ts';
import {
  type Certificate,
  checkCertificate,
  type PemPair,
  readCertificate,
  readPair,
  type TlsFiles,
} from './certificate.ts';

export interface Tls {
  createServer(options: ServerOptions, listener: RequestListener): Server;
  /** Loads the files now, without waiting for the next poll. */
  reload(): Promise<void>;
  close(): void;
}

export interface TlsNotices {
  onLoaded(certificate: Pick<Certificate, 'names' | 'validTo'>): void;
  /** The files cannot be used; the certificate that was loaded before stays in use. */
  onKept(problem: string): void;
}

/** A renewal is loaded when two polls find the same files, because certificate and key are replaced one after the other. */
const defaultPollMs = 2000;
const handshakeMs = 10_000;

export async function openTls(files: TlsFiles, notices: TlsNotices, pollMs = defaultPollMs): Promise<Tls> {
  const servers = new Set<TlsServer>();
  let current: Certificate;
  /** The files at the last poll, and the ones already reported as unusable. */
  let seen = '';
  let refused = '';
  let isPolling = false;

  const load = (pair: PemPair): void => {
    current = checkCertificate(files, pair);
    for (const server of servers) server.setSecureContext(contextOf(current));
    refused = '';
    notices.onLoaded(current);
  };

  const poll = async (): Promise<void> => {
    const found = await readPair(files).catch(problemOf);
    const fingerprint = found instanceof Problem ? found.message : textOf(found);
    const isSettled = fingerprint === seen;
    seen = fingerprint;
    if (!isSettled || fingerprint === refused) return;
    if (fingerprint === textOf(current)) {
      refused = '';
      return;
    }
    try {
      if (found instanceof Problem) throw found;
      load(found);
    } catch (error) {
      refused = fingerprint;
      notices.onKept(problemOf(error).message);
    }
  };

  current = await readCertificate(files);
  seen = textOf(current);
  notices.onLoaded(current);
  const timer = setInterval(async () => {
    // On a file system that hangs, only one read is pending.
    if (isPolling) return;
    isPolling = true;
    await poll();
    isPolling = false;
  }, pollMs).unref();

  return {
    createServer(options, listener) {
      const server = createServer(
        {
          ...options,
          ...contextOf(current),
          minVersion: 'TLSv1.2',
          ALPNProtocols: ['http/1.1', 'http/1.0'],
          // The handshake has the same timeout as the headers after it.
          handshakeTimeout: options.headersTimeout ?? handshakeMs,
          // As in http.Server: the HTTP layer handles clients that close their side.
          allowHalfOpen: true,
        },
        listener,
      );
      refuseFailedHandshakes(server);
      servers.add(server);
      server.once('close', () => servers.delete(server));
      return server;
    },
    async reload() {
      try {
        load(await readPair(files));
      } catch (error) {
        notices.onKept(problemOf(error).message);
      }
    },
    close: () => clearInterval(timer),
  };
}

/**
 * Clients that send plain HTTP, or do not finish the handshake in time, get the same response as malformed and slow
 * requests. After other failed handshakes no client could read a response.
 */
function refuseFailedHandshakes(server: TlsServer): void {
  // Node's own listener emits `clientError` for every failed handshake.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    const plain = plainSocketOf(socket);
    if (plain !== undefined && refusedByServer.has(error.code)) server.emit('clientError', error, plain);
    else socket.destroy();
  });
}

const refusedByServer = new Set<string | undefined>(['ERR_SSL_HTTP_REQUEST', 'ERR_TLS_HANDSHAKE_TIMEOUT']);

function contextOf({ cert, key }: PemPair): PemPair {
  return { cert, key };
}

function textOf({ cert, key }: PemPair): string {
  return `${cert}\n${key}`;
}

function problemOf(error: unknown): Problem {
  return error instanceof Problem
    ? error
    : new Problem(`The certificate cannot be loaded: ${(error as Error).message}`);
}
